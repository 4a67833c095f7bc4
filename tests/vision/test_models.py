"""Models come whole and with the right checksum, or not at all. The server is on loopback."""

import hashlib
import os
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from onlooker.vision import models
from onlooker.vision.download import DownloadError
from onlooker.vision.models import (
    REGISTRY,
    SFACE,
    EmbeddingModel,
    ModelError,
    fetch,
    find_model,
    installed,
    verify,
)

CONTENT = np.random.default_rng(5).bytes(1_000_003)
GOOD = replace(SFACE, name="tiny", bytes=len(CONTENT), sha256=hashlib.sha256(CONTENT).hexdigest())


@dataclass
class Server:
    """What the next requests will meet, and what they ranges_requested for."""

    address: str = ""
    content: bytes = CONTENT
    ranges: bool = True
    says_length: bool = True
    cut_after: int | None = None
    status: int | None = None
    location: str = ""
    ranges_requested: list[str | None] = field(default_factory=list)

    def model(self, **changes: object) -> EmbeddingModel:
        return replace(GOOD, address=f"{self.address}/tiny.onnx", **changes)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        server: Server = self.server.script
        wanted = self.headers.get("Range")
        server.ranges_requested.append(wanted)
        if server.location and self.path != "/moved":
            self.send_response(302)
            self.send_header("Location", server.location)
            self.end_headers()
            return
        start = int(wanted[len("bytes=") : -1]) if wanted and server.ranges else 0
        if start > len(server.content):
            self.send_error(416)
            return
        if server.status:
            self.send_error(server.status)
            return
        body = server.content[start:]
        self.send_response(206 if start else 200)
        if start:
            last = len(server.content) - 1
            self.send_header("Content-Range", f"bytes {start}-{last}/{last + 1}")
        if server.says_length:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: server.cut_after])

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "*")
    script = Server()
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.script = script
        script.address = f"http://127.0.0.1:{http.server_port}"
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        yield script
        http.shutdown()
        thread.join()


def left_in(cache: Path) -> set[str]:
    return {path.name for path in cache.iterdir()} - {"tiny.onnx.lock"}


def test_a_model_arrives_whole(server, tmp_path):
    path = fetch(server.model(), tmp_path / "new" / "cache")
    assert path.read_bytes() == CONTENT
    assert left_in(path.parent) == {"tiny.onnx"}


def test_a_model_that_is_here_is_not_fetched_again(server, tmp_path):
    fetch(server.model(), tmp_path)
    fetch(server.model(), tmp_path)
    assert len(server.ranges_requested) == 1


def test_a_damaged_model_is_fetched_again(server, tmp_path):
    (tmp_path / "tiny.onnx").write_bytes(CONTENT[:-1] + b"?")
    assert fetch(server.model(), tmp_path).read_bytes() == CONTENT


@pytest.mark.parametrize("says_length", [True, False])
def test_after_a_cut_it_goes_on_where_it_was(server, tmp_path, says_length):
    server.cut_after, server.says_length = 300_000, says_length
    with pytest.raises(DownloadError, match=r"broke off.*ask again"):
        fetch(server.model(), tmp_path)
    assert left_in(tmp_path) == {"tiny.onnx.part"}
    server.cut_after = None
    assert fetch(server.model(), tmp_path).read_bytes() == CONTENT
    assert server.ranges_requested == [None, "bytes=300000-"]
    assert left_in(tmp_path) == {"tiny.onnx"}


def test_a_server_without_ranges_starts_over(server, tmp_path):
    (tmp_path / "tiny.onnx.part").write_bytes(CONTENT[:1000])
    server.ranges = False
    assert fetch(server.model(), tmp_path).read_bytes() == CONTENT
    assert server.ranges_requested == ["bytes=1000-"]


def test_a_part_that_only_lacks_its_name_needs_no_server(server, tmp_path):
    (tmp_path / "tiny.onnx.part").write_bytes(CONTENT)
    fetch(server.model(), tmp_path)
    assert server.ranges_requested == []


def test_a_part_longer_than_the_file_is_thrown_away(server, tmp_path):
    (tmp_path / "tiny.onnx.part").write_bytes(CONTENT + b"more")
    assert fetch(server.model(), tmp_path).read_bytes() == CONTENT
    assert server.ranges_requested == [None]


def test_a_server_with_nothing_to_go_on_with_starts_over(server, tmp_path):
    """It answers 416; its file is another one, and that is said."""
    (tmp_path / "tiny.onnx.part").write_bytes(CONTENT[:1000])
    server.content = b"a pointer, not a model"
    with pytest.raises(DownloadError, match=r"offers 22 bytes where 1,000,003 are expected"):
        fetch(server.model(), tmp_path)
    assert server.ranges_requested == ["bytes=1000-", None]


def test_a_wrong_checksum_leaves_nothing(server, tmp_path):
    server.content = CONTENT[:-1] + b"?"
    with pytest.raises(DownloadError, match=r"SHA-256 .* is expected; it was deleted"):
        fetch(server.model(), tmp_path)
    assert left_in(tmp_path) == set()


def test_a_part_of_another_file_leaves_nothing(server, tmp_path):
    (tmp_path / "tiny.onnx.part").write_bytes(b"x" * 1000)
    with pytest.raises(DownloadError, match="SHA-256"):
        fetch(server.model(), tmp_path)
    assert fetch(server.model(), tmp_path).read_bytes() == CONTENT


@pytest.mark.parametrize("content", [CONTENT + b"more", CONTENT[:-1], b""])
def test_another_length_is_refused_before_a_byte_is_read(server, tmp_path, content):
    (tmp_path / "tiny.onnx.part").write_bytes(CONTENT[:1000])
    server.content, server.ranges = content, False
    with pytest.raises(DownloadError, match="another file"):
        fetch(server.model(), tmp_path)
    assert (tmp_path / "tiny.onnx.part").read_bytes() == CONTENT[:1000], "costs nothing"


def test_more_bytes_than_announced_by_the_registry_are_not_kept(server, tmp_path):
    server.content, server.says_length = CONTENT + b"x" * 500_000, False
    with pytest.raises(DownloadError, match="more than the 1,000,003 bytes"):
        fetch(server.model(), tmp_path)
    assert left_in(tmp_path) == set()


@pytest.mark.parametrize("status", [404, 403, 500])
def test_a_refusal_of_the_server_is_told(server, tmp_path, status):
    server.status = status
    with pytest.raises(DownloadError, match=f"answers {status}"):
        fetch(server.model(), tmp_path)
    assert left_in(tmp_path) == set()


def test_nobody_there(tmp_path, server):
    gone = replace(GOOD, address="http://127.0.0.1:1/tiny.onnx")
    with pytest.raises(DownloadError, match="cannot reach"):
        fetch(gone, tmp_path)


def test_redirects_are_followed_within_the_scheme(server, tmp_path):
    server.location = f"{server.address}/moved"
    assert fetch(server.model(), tmp_path).read_bytes() == CONTENT


@pytest.mark.parametrize(
    "location",
    ["https://127.0.0.1/moved", "ftp://127.0.0.1/a", "file:///etc/passwd", "http://example.org/a"],
)
def test_redirects_elsewhere_are_refused(server, tmp_path, location):
    server.location = location
    with pytest.raises(DownloadError):
        fetch(server.model(), tmp_path)
    assert left_in(tmp_path) == set()


@pytest.mark.parametrize("address", ["http://example.org/a", "file:///etc/passwd", "a.onnx", ""])
def test_only_https(tmp_path, address):
    with pytest.raises(DownloadError, match="not an https"):
        fetch(replace(GOOD, address=address), tmp_path)


@pytest.mark.parametrize("start", [0, 400_000])
def test_progress_only_grows_and_ends_at_the_end(server, tmp_path, start):
    (tmp_path / "tiny.onnx.part").write_bytes(CONTENT[:start])
    calls: list[tuple[int, int]] = []
    fetch(server.model(), tmp_path, lambda here, size: calls.append((here, size)))
    here = [done for done, _ in calls]
    assert here == sorted(here)
    assert start < here[0] < here[-1] == len(CONTENT)
    assert {size for _, size in calls} == {len(CONTENT)}


def test_whoever_stops_it_can_go_on(server, tmp_path):
    def stop(here: int, size: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(server.model(), tmp_path, stop)
    assert fetch(server.model(), tmp_path).read_bytes() == CONTENT
    assert server.ranges_requested[1].startswith("bytes=")


def test_a_folder_that_cannot_be_written(server, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(DownloadError, match="cannot write"):
        fetch(server.model(), tmp_path / "file" / "models")


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(server, tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(DownloadError, match="cannot write"):
            fetch(server.model(), tmp_path)
    finally:
        tmp_path.chmod(0o700)


def test_many_at_once_download_it_once(server, tmp_path):
    with ThreadPoolExecutor(8) as pool:
        paths = list(pool.map(lambda _: fetch(server.model(), tmp_path), range(8)))
    assert {path.read_bytes() for path in paths} == {CONTENT}
    assert server.ranges_requested == [None]


def test_installed_and_verified(server, tmp_path, monkeypatch):
    monkeypatch.setattr(models, "REGISTRY", (SFACE, server.model()))
    assert installed(tmp_path) == {}
    path = fetch("tiny", tmp_path)
    assert installed(tmp_path) == {"tiny": path}
    assert verify(path).name == "tiny"
    path.write_bytes(CONTENT[:-1] + b"?")
    with pytest.raises(ModelError, match="or it is damaged"):
        verify(path)
    path.write_bytes(b"")
    assert installed(tmp_path) == {}
    with pytest.raises(ModelError, match="cannot read"):
        verify(tmp_path / "none.onnx")


def test_unknown_names_are_told_the_known_ones(tmp_path):
    with pytest.raises(ModelError, match=r"no model is called 'sphinx'; there is sface"):
        fetch("sphinx", tmp_path)


def test_find_model(tmp_path, monkeypatch):
    monkeypatch.delenv("ONLOOKER_EMBEDDING", raising=False)
    file = tmp_path / "own.onnx"
    file.write_bytes(b"")
    with pytest.raises(ModelError, match="set ONLOOKER_EMBEDDING"):
        find_model()
    assert find_model(file) == find_model(str(file)) == file
    with pytest.raises(ModelError, match="onlooker models get sface"):
        find_model("sface", tmp_path)
    with pytest.raises(ModelError, match="neither a file nor"):
        find_model(tmp_path / "other.onnx")
    with pytest.raises(ModelError, match="neither a file nor"):
        find_model(tmp_path)
    monkeypatch.setenv("ONLOOKER_EMBEDDING", str(file))
    assert find_model() == file
    with (tmp_path / "sface.onnx").open("wb") as sface:
        sface.truncate(SFACE.bytes)
    assert find_model("sface", tmp_path) == tmp_path / "sface.onnx"


def test_the_cache_folder_follows_the_system(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    assert models.cache_folder() == Path("/elsewhere/onlooker/models")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("LOCALAPPDATA", "/local")
    for system, folder in {
        "linux": Path.home() / ".cache",
        "darwin": Path.home() / "Library" / "Caches",
        "win32": Path("/local"),
    }.items():
        monkeypatch.setattr(sys, "platform", system)
        assert models.cache_folder() == folder / "onlooker" / "models"


def test_the_registry_is_sound():
    names = [model.name for model in REGISTRY]
    assert len(set(names)) == len(names)
    for model in REGISTRY:
        assert model.address.startswith("https://")
        assert len(bytes.fromhex(model.sha256)) == 32
        assert model.licence == model.recipe.licence
