"""The simulated cameras as a dataset: complete or not there, made once, always the same."""

import numpy as np
import pytest

from onlooker.core.errors import BadValue
from onlooker.experiments.datasets import simulated
from onlooker.experiments.datasets.facebank import PictureChunk, _read, find_in_chunk
from onlooker.experiments.datasets.manifest import MANIFEST, read_dataset
from onlooker.experiments.datasets.simulated import simulated_dataset, write_simulated
from onlooker.simulation.scenarios import scenario
from onlooker.video.image_files import read_picture
from onlooker.vision.finder import FaceFinder


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "onlooker" / "simulated"


def contents(folder):
    return {
        path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def times(folder):
    return {path: path.stat().st_mtime_ns for path in [folder, *folder.rglob("*")]}


def test_it_reads_back_with_three_recordings_and_a_crowd():
    dataset = read_dataset(simulated_dataset(0, frames=16))
    assert dataset.recordings == ("V1+V2", "VO", "VN")
    places = [(each.set, each.camera) for each in dataset.pictures]
    assert list(dict.fromkeys(places)) == [
        *(("V1+V2", camera) for camera in ("camera1", "camera2")),
        *(("VO", camera) for camera in ("cubicle", "couch", "conference")),
        ("VN", "door"),
        ("strangers", ""),
    ]
    assert len(dataset.crowd) == 32
    frames = [(each.set, each.camera, each.frame) for each in dataset.pictures]
    assert len(set(frames)) == len(frames) == 4 * 16 + 32
    assert {each.person for each in dataset.recording("V1+V2")} == {
        truth.person for _, truth in scenario("V1", frames=16)
    }


def test_pictures_show_what_the_camera_saw():
    dataset = read_dataset(simulated_dataset(0, frames=2))
    for (frame, truth), picture in zip(scenario("V1", frames=2), dataset.pictures, strict=False):
        assert picture.person == truth.person
        gap = np.abs(read_picture(picture.path).astype(float) - frame.pixels)
        assert gap.mean() < 1.5


def test_the_crowd_has_faces_as_experiments_look_for_them(tmp_path):
    crowd = read_dataset(simulated_dataset(0, frames=1)).crowd
    paths = tuple(each.path for each in crowd)
    chunk = PictureChunk(paths, (True,) * len(paths), FaceFinder(kind="pixels"), tmp_path)
    assert find_in_chunk(chunk) == []
    assert all(len(faces) == 1 and faces[0].vector is not None for faces in _read(chunk.file()))


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(tmp_path):
    first = contents(simulated_dataset(1, frames=2))
    assert contents(write_simulated(tmp_path / "mine", seed=1, frames=2)) == first
    assert contents(simulated_dataset(2, frames=2)).values() != first.values()


def test_a_second_call_does_nothing(cache, monkeypatch):
    place = simulated_dataset(0, frames=2)
    assert place.parent == cache
    before = times(cache)
    monkeypatch.setattr(simulated, "write_dataset", None)
    assert simulated_dataset(0, frames=2) == place
    assert times(cache) == before


def test_other_code_or_another_length_gives_another_folder(cache, monkeypatch):
    places = [simulated_dataset(0, frames=1), simulated_dataset(0, frames=2)]
    getsource = simulated.inspect.getsource
    monkeypatch.setattr(simulated.inspect, "getsource", lambda module: getsource(module) + "#")
    places.append(simulated_dataset(0, frames=1))
    assert len(set(places)) == 3
    assert set(cache.iterdir()) == set(places)


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_what_was_interrupted_leaves_nothing(cache, monkeypatch, error):
    seen = []

    def breaks(seed):
        seen.extend(path for path in cache.iterdir() if (path / MANIFEST).exists())
        assert list(cache.glob("*/dataset/V1+V2/camera1/*.jpg")), "it was at work"
        raise error("no more")
        yield

    monkeypatch.setattr(simulated, "strangers", breaks)
    with pytest.raises(BadValue if error is OSError else error, match="no more"):
        simulated_dataset(0, frames=2)
    assert seen == []
    assert list(cache.iterdir()) == []


def test_two_at_the_same_time_agree(cache, monkeypatch):
    """The slower one finds the folder there when it is done, and leaves it alone."""
    write = simulated.write_dataset

    def slow(folder, sets):
        monkeypatch.setattr(simulated, "write_dataset", write)
        faster.append(simulated_dataset(0, frames=1))
        return write(folder, sets)

    faster = []
    monkeypatch.setattr(simulated, "write_dataset", slow)
    assert simulated_dataset(0, frames=1) == faster[0]
    assert list(cache.iterdir()) == faster
    assert len(read_dataset(faster[0]).pictures) == 36


def test_a_folder_with_something_in_it_is_refused(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(BadValue, match="mine is not an empty folder"):
        write_simulated(tmp_path / "mine", frames=1)
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["letter.txt"]
    (tmp_path / "empty").mkdir()
    assert read_dataset(write_simulated(tmp_path / "empty", frames=1)).pictures


def test_bad_numbers_are_refused(tmp_path):
    with pytest.raises(BadValue, match="seed"):
        simulated_dataset(-1, frames=1)
    with pytest.raises(BadValue, match="frames"):
        simulated_dataset(0, frames=-1)
