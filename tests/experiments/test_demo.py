"""The demo: real faces past simulated cameras, from the command to the report."""

import re

import av
import pytest

from onlooker.experiments.demo import main


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    assert main(["--frames", "150", "--folder", str(folder)]) == 0
    return folder


def test_the_report_stands_alone_and_shows_every_video(demo):
    page = (demo / "report.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 1
    assert all(f"<h2>{name}</h2>" in page for name in ("V1", "V2", "VO"))
    assert not re.search(r'(src|href)="(?!data:|#)', page), "it must load nothing from elsewhere"


def test_the_annotated_videos_can_be_played(demo):
    for path in demo.glob("*.mp4"):
        with av.open(str(path)) as video:
            assert sum(1 for _ in video.decode(video=0)) > 30


def test_the_learner_misses_fewer_faces_than_nearest_neighbour_at_the_first_camera(demo):
    page = (demo / "report.html").read_text(encoding="utf-8")
    cells = re.findall(r">V1</td><td[^>]*>([^<]+)</td><td>([^<]+)</td><td>([^<]+)</td>", page)
    online, nearest = ((float(precision), float(recall)) for _, precision, recall in cells)
    assert online[0] >= 0.99
    assert online[1] >= nearest[1]
