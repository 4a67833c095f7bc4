"""`onlooker serve`, before the first frame: settings, the folder of people, alerts."""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import cv2
import numpy as np
import pytest
from typer.testing import CliRunner

from helpers.homes import files_with, open_database
from helpers.mosquitto import PASSWORD, USER, Mosquitto, listening
from helpers.ports import free_port
from helpers.services import photo, scene
from helpers.waiting import eventually
from onlooker.alerts.channels import Alerts
from onlooker.cli.app import app
from onlooker.cli.serve import opened_service
from onlooker.cli.settings import load_settings
from onlooker.core.errors import BadValue, install_command
from onlooker.home.database import HomeDamaged
from onlooker.home.migration import TAUGHT_FILE
from onlooker.home.people import rename
from onlooker.home.taught import TaughtFaces
from onlooker.vision.types import Frame

NOBODY_TOLD = (None, None, None)


@pytest.fixture
def people(tmp_path):
    """Two pictures of ana, one of ben."""
    folder = tmp_path / "people"
    for name, person, numbers in (("ana", 1, (0, 1)), ("ben", 2, (0,))):
        (folder / name).mkdir(parents=True)
        for number in numbers:
            (folder / name / f"{number}.png").write_bytes(photo(person, number))
    return folder


def started(folder, people=None, alerts=NOBODY_TOLD):
    chosen = load_settings(home=str(folder), people=None if people is None else str(people))
    return opened_service(folder, chosen, [], Alerts(*alerts))


def done(service, act):
    return service.home_thread.submit(act).result()


def names(service):
    return sorted(done(service, lambda home: home.learner.names))


def taught(service):
    """How many labeled faces everybody has."""
    labels = [name for name in done(service, lambda home: home.vertices().names) if name]
    return {name: labels.count(name) for name in labels}


def test_a_kernel_beyond_the_cliff_is_warned_of(tmp_path, capsys):
    words = "may be named through chains of other strangers"
    for cutoff, count in ((1e-30, 1), (None, 1), (0.001, 0)):  # None: what the home has
        folder = tmp_path / ("near" if cutoff == 0.001 else "far")
        chosen = load_settings(home=str(folder), cutoff=cutoff)
        with opened_service(folder, chosen, [], Alerts(*NOBODY_TOLD)):
            assert capsys.readouterr().err.count(words) == count


# ---- the folder of people


def test_everybody_in_the_folder_is_taught_once_with_a_picture(tmp_path, people):
    for _ in range(2):
        with started(tmp_path / "home", people) as service:
            assert taught(service) == {"ana": 2, "ben": 1}
            vertices = done(service, lambda home: home.vertices().ids.tolist())
            for vertex in vertices:
                png = done(service, lambda home, vertex=vertex: home.album.picture(vertex))
                assert cv2.imdecode(np.frombuffer(png, np.uint8), 1).shape == (96, 96, 3)
            assert done(service, lambda home: home.sequence) == 3


def test_who_was_forgotten_is_not_taught_again(tmp_path, people, capsys):
    home = tmp_path / "home"
    with started(home, people) as service:
        done(service, lambda home: home.forget("ana"))
    for _ in range(2):
        capsys.readouterr()
        with started(home, people) as service:
            assert names(service) == ["ben"]
        (text,) = capsys.readouterr().err.splitlines()
        assert "ana is not taught again" in text
    assert files_with(home, b"ana") == []
    assert (home / "onlooker.db").stat().st_mode & 0o077 == 0


def test_who_was_renamed_does_not_come_back_by_the_old_name(tmp_path, people, capsys):
    with started(tmp_path / "home", people) as service:
        done(service, lambda home: rename(home, "ana", "anna"))
    with started(tmp_path / "home", people) as service:
        assert names(service) == ["anna", "ben"]


def test_what_was_undone_stays_undone(tmp_path, people, capsys):
    with started(tmp_path / "home", people) as service:
        done(service, lambda home: home.undo(to=0))
    with started(tmp_path / "home", people) as service:
        assert names(service) == []


def test_a_face_that_was_called_wrong_is_not_taught_again_but_a_new_one_is(tmp_path, people):
    with started(tmp_path / "home", people) as service:
        wrong = done(service, lambda home: home.vertices().ids[home.vertices().names.index("ana")])
        done(service, lambda home: home.drop(int(wrong)))
    with started(tmp_path / "home", people) as service:
        assert taught(service) == {"ana": 1, "ben": 1}
    (people / "ana" / "new.png").write_bytes(photo(1, 4))
    with started(tmp_path / "home", people) as service:
        assert taught(service) == {"ana": 2, "ben": 1}


def test_who_is_labeled_again_after_a_forgetting_is_known_again(tmp_path, people, capsys):
    with started(tmp_path / "home", people) as service:
        done(service, lambda home: home.forget("ana"))
        face = service.recognizer.one_face(scene(1, 5))
        done(service, lambda home: home.teach(face.vector, "ana"))
    (people / "ana" / "new.png").write_bytes(photo(1, 4))
    with started(tmp_path / "home", people) as service:
        assert taught(service) == {"ana": 2, "ben": 1}
    assert capsys.readouterr().err == ""


def test_a_start_that_was_killed_while_teaching_is_made_up_for(tmp_path, people):
    home = tmp_path / "home"
    with started(home, people):
        pass
    with started(home, None) as service:  # taught, but not recorded, as by an older version
        done(service, lambda home: home.database.execute("DELETE FROM taught"))
    with started(home, people) as service:
        assert taught(service) == {"ana": 2, "ben": 1}
        done(service, lambda home: home.forget("ana"))
    with started(home, people) as service:
        assert names(service) == ["ben"]


def test_one_face_of_two_people_teaches_nobody(tmp_path, people):
    (people / "cleo.png").write_bytes(photo(1, 0))
    with pytest.raises(Exception, match="cleo"), started(tmp_path / "home", people):
        pass
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("content", [b"", b"{}", b'{"key": "00", "taught": []}', b"\xff", b"[1]"])
def test_a_damaged_register_is_told_and_nobody_comes_back(tmp_path, people, content):
    home = tmp_path / "home"
    with started(home, people) as service:
        done(service, lambda home: home.forget("ana"))
    (home / TAUGHT_FILE).write_bytes(content)
    with pytest.raises(BadValue, match="who was forgotten"), started(home, people):
        pass


def test_a_home_has_one_identity_and_no_two_have_the_same(tmp_path):
    seen = set()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        for _ in range(2):
            database = open_database(tmp_path / name / "onlooker.db")
            seen.add(TaughtFaces(database).identity)
            database.close()
    assert len(seen) == 2


def test_a_damaged_key_of_taught_faces_is_an_error_and_nobody_comes_back(tmp_path, people):
    home = tmp_path / "home"
    with started(home, people) as service:
        done(service, lambda home: home.database.execute("UPDATE secrets SET value = x'00'"))
    with pytest.raises(HomeDamaged, match="restore a backup"), started(home, people):
        pass


# ---- alerts


class Hook(BaseHTTPRequestHandler):
    heard = None

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.heard.append(json.loads(body))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def hook():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    server.heard = []
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_stranger_before_a_camera_is_told_to_both(tmp_path, people, hook, monkeypatch):
    (tmp_path / "secret").write_text(f"{PASSWORD}\n")
    with (
        Mosquitto(tmp_path, password=True) as broker,
        listening(broker.port, USER, PASSWORD) as heard,
    ):
        both = (
            f"http://127.0.0.1:{hook.server_port}/",
            f"mqtt://{USER}@127.0.0.1:{broker.port}",
            tmp_path / "secret",
        )
        with started(tmp_path / "home", people, both) as service:
            for index in range(3):
                service.recognize(Frame("door", index, float(index), scene(7)))
            alerts = eventually(lambda: [text for topic, text, _ in heard if "/stranger" in topic])
            eventually(lambda: hook.heard)
            assert service.health.problems == ()
        eventually(lambda: any(text == "offline" for _, text, _ in heard))
    ((by_hook,), (by_mqtt,)) = hook.heard, [json.loads(text) for text in alerts if "camera" in text]
    assert by_hook["camera"] == "door"
    assert by_hook.items() <= by_mqtt.items()


def test_a_broker_that_is_not_there_is_told_in_health_and_the_camera_goes_on(tmp_path, people):
    with started(
        tmp_path / "home", people, (None, f"mqtt://127.0.0.1:{free_port()}", None)
    ) as service:
        (words,) = eventually(lambda: service.health.problems)
        assert words.startswith("mqtt 127.0.0.1:")
        assert "refused" in words
        assert service.recognize(Frame("door", 0, 0.0, scene(7))).sightings


# ---- the command


def refused(*arguments, code):
    """The error of a `serve` that does not start."""
    result = CliRunner().invoke(app, ["serve", "--port", str(free_port()), *map(str, arguments)])
    assert result.exit_code == code, result.output
    return " ".join(result.stderr.split())


def test_without_the_extra_it_says_what_to_install(tmp_path, monkeypatch):
    for module in [name for name in sys.modules if name.startswith("paho")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.delitem(sys.modules, "onlooker.alerts.mqtt", raising=False)
    monkeypatch.setitem(sys.modules, "paho", None)
    text = refused("--home", tmp_path / "home", "--mqtt", "mqtt://a", code=2)
    assert install_command("mqtt") in text
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--mqtt", "mqtt://u:hunter2@a"], "a broker has an address"),
        (["--mqtt", "mqtt://a", "--mqtt-password-file", "missing"], "cannot read the password"),
        (["--mqtt", "mqtt://a", "--mqtt-password-file", "empty"], "is empty"),
        (["--mqtt", "mqtt://a", "--mqtt-password-file", "there"], "needs a user"),
        (["--mqtt-password-file", "there"], "Give --mqtt"),
        (["--webhook", "file:///x"], "a webhook has an address"),
    ],
)
def test_refused(tmp_path, arguments, words):
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "there").write_text("hunter2\n")
    text = refused("--home", tmp_path / "home", *arguments, code=1)
    assert words in text
    assert "hunter2" not in text
    assert not (tmp_path / "home").exists()


def test_the_password_comes_from_the_environment(monkeypatch):
    monkeypatch.setenv("ONLOOKER_MQTT_PASSWORD", "hunter2")
    with pytest.raises(BadValue, match="needs a user"):
        Alerts(None, "mqtt://a", None)
    assert Alerts(None, "mqtt://ana@a", None)._broker.password == "hunter2"


def test_the_home_comes_from_the_settings_file(tmp_path):
    assert "Give --home DIR" in refused(code=2)
    (tmp_path / "onlooker.toml").write_text('home = "there"\n')
    assert "missing.mp4" in refused("missing.mp4", code=1)
    assert (tmp_path / "there" / "onlooker.db").exists()
    (tmp_path / "onlooker.toml").write_text("home = 7\n")
    assert "home must be text, got 7" in refused(code=1)
