"""`onlooker cluster`, as somebody at a terminal uses it, and `reproduce --cluster`."""

import json
import os
import sqlite3
import subprocess
import sys

import cv2
import pytest
from rich.console import Console

from helpers.mosquitto import Mosquitto, listening
from helpers.services import scene
from helpers.waiting import DEADLINE, eventually
from onlooker.cli.cluster import site_table
from onlooker.cluster.camera import RemoteCameraStatus
from onlooker.cluster.coordinator import SiteStatus
from onlooker.core.errors import BadValue, install_command


def onlooker(*arguments, timeout=300):
    return subprocess.run(
        [sys.executable, "-c", "from onlooker.cli import main; main()", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={key: value for key, value in os.environ.items() if not key.startswith("RAY_")},
        check=False,
    )


def rows(done):
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(row) for row in done.stdout.splitlines()]


def page(config):
    """What `onlooker serve --cluster FILE` hands to its page, once a round has seen the camera."""
    code = f"""
import json, time
from onlooker.cli.cluster import sites_of
with sites_of({str(config)!r}) as view:
    while not view()[0].cameras:
        time.sleep(0.5)
    print(json.dumps([[s.name, s.state, s.cameras, s.people] for s in view()]))
"""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("RAY_")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
        check=False,
    )
    return rows(done)[0]


def camera_events(folder):
    """The events of cameras in all homes below a folder."""
    found = []
    for path in folder.rglob("onlooker.db"):
        connection = sqlite3.connect(path)
        found += connection.execute("SELECT camera, entries FROM events WHERE kind = 'camera'")
        connection.close()
    return [(camera, json.loads(entries)) for camera, entries in found]


def config_in(folder, extra="", south=""):
    path = folder / "cluster.toml"
    path.write_text(
        f"""
        people = "people"
        site_cpus = 0.1
        camera_cpus = 0.1
        {extra}
        [sites.north.cameras]
        door = "door"
        [sites.south.cameras]
        {south}
        """
    )
    return path


@pytest.fixture
def broker(tmp_path_factory):
    with Mosquitto(tmp_path_factory.mktemp("broker")) as running:
        yield running


def texts(heard):
    return [text for _, text, _ in heard]


def mqtt_alerts(heard):
    """The alerts about cameras in what was heard: site, camera and state."""
    alerts = [json.loads(text) for topic, text, _ in heard if topic.endswith("/camera")]
    return [(alert["site"], alert["camera"], alert["state"]) for alert in alerts]


def test_up_status_merge_forget_down(tmp_path, broker):
    pytest.importorskip("ray")
    for person in (1, 2):
        at = tmp_path / "people" / f"person{person}"
        at.mkdir(parents=True)
        for number in range(3):
            cv2.imwrite(str(at / f"{number}.png"), scene(person, number))
    (tmp_path / "door").mkdir()
    for number in range(6):
        cv2.imwrite(str(tmp_path / "door" / f"{number}.png"), scene(1, number % 3, shift=number))
    dead = 'yard = "rtsp://127.0.0.1:9/none"'
    alerts = f'mqtt = "{broker.address}/cams"'
    config = ("--config", config_in(tmp_path, alerts, south=dead))
    try:
        started = rows(onlooker("cluster", "up", *config))
        assert [row["site"] for row in started] == ["north", "south"]
        assert started[1]["people"] == ["person1", "person2"]
        for _ in range(20):
            status = onlooker("cluster", "status", *config)
            north, south = (json.loads(row) for row in status.stdout.splitlines())
            if north["cameras"]["door"]["state"] == "ended":
                break
        assert (north["state"], north["cameras"]["door"]["examples"] >= 1) == ("serving", True)
        # A dead camera was not listed at all, and its site "well".
        assert (south["state"], status.returncode) == ("degraded", 1)
        yard = south["cameras"]["yard"]
        assert (yard["state"], yard["last_frame"], yard["fps"]) == ("failing", None, 0.0)
        assert "refused" in yard["problem"]
        assert any("camera yard is failing" in problem for problem in south["problems"])
        with listening(broker.port) as heard:  # its process told Home Assistant
            eventually(lambda: mqtt_alerts(heard) and "online" in texts(heard))
            assert mqtt_alerts(heard) == [("south", "yard", "failing")]
        (merged,) = rows(onlooker("cluster", "merge", *config, "--out", tmp_path / "all.state"))
        assert (merged["sites"], merged["missing"]) == (["north", "south"], [])
        assert (tmp_path / "all.state").exists()
        assert page(config[1]) == [["north", "well", 1, 2], ["south", "degraded", 1, 2]]
        receipts = rows(onlooker("cluster", "forget", "person1", *config))
        assert [(each["site"], each["state"]) for each in receipts] == [
            ("north", "done"),
            ("south", "done"),
        ]
        again = onlooker("cluster", "up", *config)  # what runs goes on; nobody comes back
        assert [row["people"] for row in rows(again)] == [["person2"], ["person2"]]
        assert "person1 is not taught again" in again.stderr
    finally:
        down = onlooker("cluster", "down", *config)
    assert rows(down) == [{"closed": 2}]
    with listening(broker.port) as heard:  # and that it is gone, but not of a camera that failed
        eventually(lambda: mqtt_alerts(heard) and "offline" in texts(heard))
        assert mqtt_alerts(heard) == [("south", "yard", "failing")]
    # The home of the site has an event of its camera, once, and none of `down`.
    assert camera_events(tmp_path) == [("yard", [["camera", "failing", yard["problem"]]])]
    assert not (tmp_path / "cluster" / "ray" / "ray.json").exists()
    listed = subprocess.run(["ps", "-eo", "args="], capture_output=True, text=True).stdout
    assert str(tmp_path) not in listed
    again = onlooker("cluster", "down", *config)
    assert (again.returncode, again.stderr) == (0, "onlooker: no Ray of this cluster is running\n")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("cluster", "status"), 1, "no Ray runs for"),
        (("cluster", "status", "--address", "127.0.0.1:9"), 1, "nothing answers at 127.0.0.1:9"),
        (("cluster", "up", "--address", "nowhere"), 1, "nothing answers at nowhere"),
    ],
)
def test_what_cannot_be_reached_is_one_line(tmp_path, arguments, code, words):
    (tmp_path / "people").mkdir()
    done = onlooker(*arguments, "--config", config_in(tmp_path))
    assert done.returncode == code
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "arguments", [("cluster", "up"), ("reproduce", "compact", "--cluster", "local")]
)
def test_without_ray_one_line_names_the_extra(tmp_path, arguments):
    if arguments[0] == "cluster":
        arguments = (*arguments, "--config", config_in(tmp_path))
    code = "import sys; sys.modules['ray'] = None; from onlooker.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert f"needs ray, which is not installed: {install_command('cluster')}" in done.stderr


def test_the_command_line_starts_without_what_reads_a_cluster_configuration():
    """pydantic comes with the extra `cluster`; newer versions of typer bring it, too."""
    code = "import sys, onlooker.cli; sys.exit('onlooker.cluster.config' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], timeout=DEADLINE, check=False).returncode == 0
    )


def test_a_sweep_on_ray_gives_the_rows_that_processes_give(ray_here):
    from onlooker.cluster.ray_jobs import run_on_ray
    from onlooker.experiments.parallel import running_on
    from onlooker.experiments.theory import compact

    grid = {"sizes": (10,), "copies": (1, 2)}
    here = compact.run(2, **grid)
    with running_on(run_on_ray):
        there = compact.run(2, **grid)
    assert there == here
    assert len(there) == 12


def test_a_job_that_fails_on_ray_fails_as_it_does_here(ray_here):
    from onlooker.cluster.ray_jobs import run_on_ray

    def fails(job):
        raise BadValue(f"job {job} cannot be done")

    with pytest.raises(BadValue, match=r"^job \d cannot be done$"):
        run_on_ray(fails, [1, 2], lambda: None)


def test_a_terminal_of_80_columns_cut_the_state_of_a_site(capsys):
    """ "degra…", and the problem in a column of six letters."""
    door = RemoteCameraStatus.unknown("door", "cannot open rtsp://10.0.0.5/...: Connection refused")
    states = [SiteStatus("north-building", "serving", cameras=(door,)), SiteStatus("south", "away")]
    Console(width=80).print(site_table(states))
    said = " ".join(capsys.readouterr().out.split())
    assert "degraded" in said
    assert "away" in said
    assert "failing for" in said
    assert "camera door is failing: cannot open rtsp://10.0.0.5/...: Connection" in said
    assert "…" not in said
