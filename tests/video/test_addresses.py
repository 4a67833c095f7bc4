"""The addresses of sources: what is refused, and names without secrets."""

import pytest

from onlooker.video.addresses import addresses_of
from onlooker.video.sources import SourceError, frames_from


@pytest.mark.parametrize(
    "address",
    [
        "file:///etc/passwd",
        "concat:a.mp4|b.mp4",
        "data:video/mp4;base64,AAAA",
        "pipe:0",
        "subfile,,start,0,end,9,,:/etc/passwd",
        "lavfi:testsrc",
        "ftp://host/v.mp4",
        "udp://239.0.0.1:1234",
        "http:///video",
        "rtsp://me:pass#word@10.0.0.5/1",
        "rtsp://me:pass/word@10.0.0.5/1",
        "",
        "two\nlines",
        "=0",
        "door=",
    ],
)
def test_other_protocols_and_senseless_addresses_are_refused(address):
    with pytest.raises(SourceError) as caught, frames_from(address):
        pass
    assert "word" not in str(caught.value).replace("password", "")


def test_names_are_unique_and_hold_no_secret(tmp_path):
    (tmp_path / "a=b.mp4").touch()
    sources = [
        "rtsp://admin:hunter2@10.0.0.5:554/user=admin&password=hunter2?pw=hunter2",
        "rtsp://admin:hunter2@10.0.0.5:554/2",
        "rtsp://hunter:22/hunter@10.0.0.9/1",
        "http://[fe80::1]:8080/video",
        "camera0=https://10.0.0.6/?token=hunter2",
        "0",
        tmp_path / "a=b.mp4",
    ]
    found = addresses_of(sources)
    names = [address.camera for address in found]
    assert names == [
        "10.0.0.5-554",
        "10.0.0.5-554-2",
        "rtsp",
        "fe80-1-8080",
        "camera0",
        "camera0-2",
        "a=b",
    ]
    assert "hunter" not in repr(found)


def test_two_sources_of_one_name_are_an_error():
    with pytest.raises(SourceError, match="two sources are called 'door'"):
        addresses_of(["door=0", "door=1"])
    with pytest.raises(SourceError, match="no source"):
        addresses_of([])


def test_a_pattern_of_a_thousand_folders_is_an_error():
    """It was a RecursionError, found by the 10^6 executions of the fuzzer."""
    with pytest.raises(SourceError, match="too many folders"):
        addresses_of(["a[/" * 5000])
