"""The configuration of a cluster: what it refuses, and how."""

from pathlib import Path

import pytest

from onlooker.cluster.config import config_of, read_config
from onlooker.core.errors import BadValue
from onlooker.vision.scales import TRUST_RADII
from onlooker.vision.sface import SFaceFeatures

NORTH = {"cameras": {"door": "rtsp://10.0.0.5/1", "yard": {"source": 0, "node": "10.0.0.7"}}}


def test_a_configuration_says_where_and_who():
    config = config_of({"sites": {"north": NORTH, "south": {}}}, Path("base"))
    assert [site.folder for site in config.sites] == [
        Path("base/cluster/north"),
        Path("base/cluster/south"),
    ]
    assert config.sites[0].cameras[1].node == "10.0.0.7"
    assert config.learner_config.features == SFaceFeatures.tag
    assert "10.0.0.5" not in repr(config), "a source may hold a password"


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({}, "lists no site"),
        (
            {"sites": {"a": {}}, "sights": 1},
            "sights is not a setting; the settings there are features,",
        ),
        ({"sites": {"a": {"camera": {}}}}, "sites.a.camera is not a setting"),
        ({"sites": {"../a": {}}}, "letters, digits"),
        ({"sites": {"..": {}}}, "letters, digits"),
        ({"sites": {"a": 3}}, "sites.a must be a table, such as [sites.a], got 3"),
        ({"sites": {"a": {"cameras": ["0"]}}}, "sites.a.cameras must be a table"),
        ({"sites": {"a": {"cameras": {"d": ""}}}}, "sites.a.cameras.d.source must be a text"),
        (
            {"sites": {"a": {"cameras": {"d": {"source": 0, "where": 1}}}}},
            "d.where is not a setting",
        ),
        ({"sites": {"a": NORTH, "b": {"cameras": {"door": "1"}}}}, "door is claimed by the sites"),
        (
            {"sites": {"a": NORTH, "b": {"cameras": {"gate": "rtsp://10.0.0.5/1"}}}},
            "b/gate and a/door have the same source",
        ),
        (
            {"sites": {"a": {"features": "pixels"}, "b": {"features": "embedding"}}},
            "features is 'pixels' at site a and 'embedding' at site b",
        ),
        ({"sites": {"a": {"bandwidth": 0.1}, "b": {}}}, "bandwidth is 0.1 at site a and None"),
        ({"cutoff": 1e-5, "sites": {"a": {"cutoff": 1e-6}, "b": {}}}, "cutoff is 1e-06 at site a"),
        ({"sites": {"a": {}}, "vertices": 0}, "vertices must be greater than or equal to 1, got 0"),
        (
            {"sites": {"a": {}}, "features": "smell"},
            "features must be 'sface', 'hog', 'pixels' or 'embedding', got",
        ),
        ({"sites": {"a": {}}, "vertices": "5"}, "vertices must be a valid integer, got '5'"),
        ({"sites": {"a": {"bandwidth": float("nan")}}}, "a.bandwidth must be a finite number"),
        ({"sites": {"a": {"cameras": {"d": {"node": "x"}}}}}, "cameras.d.source is missing"),
        ({"sites": {"a": {"cameras": {"d/e": "0"}}}}, "a camera is named with letters, digits"),
        (
            {"sites": {"a": {}}, "trust_radius": "far"},
            "trust_radius must be auto, off or a number from 0, got 'far'",
        ),
        ({"sites": {"a": {"trust_radius": -1}}}, "a.trust_radius must be auto, off or a number"),
        ({"sites": {"a": {}}, "names_every": 0}, "greater than or equal to 0.1, got 0"),
    ],
)
def test_an_error_names_the_place_the_value_and_what_is_expected(table, words):
    with pytest.raises(BadValue) as caught:
        config_of(table, Path())
    assert words in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    "cameras",
    [
        {"d": ["rtsp://ana:secret@10.0.0.5"]},
        {"d": {"url": "rtsp://ana:secret@10.0.0.5"}},
        ["rtsp://ana:secret@10.0.0.5"],
        {"d": {"source": {"url": "rtsp://ana:secret@10.0.0.5"}}},
    ],
)
def test_an_error_does_not_show_a_password(cameras):
    with pytest.raises(BadValue) as caught:
        config_of({"sites": {"a": {"cameras": cameras}}}, Path())
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None  # pydantic's message would show it


def test_the_same_thing_said_twice_is_agreement():
    sites = {"a": {"cutoff": 1e-6}, "b": {"cutoff": 1e-6}}
    assert config_of({"sites": sites}, Path()).cutoff == 1e-6


@pytest.mark.parametrize(
    ("said", "radius"),
    [(None, None), ("off", None), ("auto", TRUST_RADII["sface"]), (0.8, 0.8), (0, 0.0)],
)
def test_sites_carry_names_as_far_as_the_file_says(said, radius):
    table = {"sites": {"a": {}}} | ({} if said is None else {"trust_radius": said})
    assert config_of(table, Path()).learner_config.learner().trust_radius == radius


@pytest.mark.parametrize("text", ["[sites", "sites = 1", "\xff"])
def test_a_file_that_is_no_configuration_is_named(tmp_path, text):
    path = tmp_path / "cluster.toml"
    path.write_text(text, "latin-1")
    with pytest.raises(BadValue, match=r"cluster\.toml"):
        read_config(path)
    with pytest.raises(BadValue, match="cannot read"):
        read_config(tmp_path / "none.toml")


def test_a_source_longer_than_any_file_name_is_no_traceback():
    source = f"rtsp://10.0.0.5/{'x' * 5000}"
    config = config_of({"sites": {"a": {"cameras": {"door": source}}}}, Path("base"))
    assert config.sites[0].cameras[0].source == source


def test_a_trust_radius_of_400_digits_is_refused():
    with pytest.raises(BadValue, match="trust_radius must be auto, off or a number"):
        config_of({"sites": {"a": {}}, "trust_radius": 10**400}, Path("base"))
