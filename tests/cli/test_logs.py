"""The log: time, level, camera, as text or JSON; bounded on the disk."""

import json
import logging
import re

import pytest

from helpers.commands import error_of, onlooker
from onlooker.cli import logs
from onlooker.cli.logs import logging_to

LOG_LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (WARNING|ERROR|INFO) ")
log = logging.getLogger("onlooker.somewhere")


def test_a_log_line_has_time_level_and_camera(capsys):
    with logging_to(None, as_json=False) as say:
        log.warning("lost it", extra={"camera": "door"})
        log.info("a name\nwith a line break")
        say("listening")
        logging.getLogger("matplotlib").info("chatter")
    log.warning("afterwards")
    first, second, third = capsys.readouterr().err.splitlines()
    assert LOG_LINE.match(first)
    assert first.endswith("WARNING door: lost it")
    assert second.endswith("INFO a name with a line break")
    assert third == "onlooker: listening"


def test_every_line_of_a_json_log_is_json(capsys):
    with logging_to(None, as_json=True) as say:
        log.warning("lost %s", "it\n", extra={"camera": "door"})
        say("listening on http://127.0.0.1:8765/")
        try:
            raise ValueError("no")
        except ValueError:
            log.exception("the audit failed")
    rows = [json.loads(text) for text in capsys.readouterr().err.splitlines()]
    assert [(row["level"], row["camera"], row["message"][:9]) for row in rows] == [
        ("WARNING", "door", "lost it\n"),
        ("INFO", None, "listening"),
        ("ERROR", None, "the audit"),
    ]
    assert "ValueError: no" in rows[-1]["message"]


@pytest.mark.parametrize("as_json", [False, True])
def test_a_log_file_is_bounded(tmp_path, monkeypatch, as_json):
    monkeypatch.setattr(logs, "LOG_BYTES", 2000)
    with logging_to(tmp_path / "log", as_json=as_json):
        for number in range(1000):
            log.warning(f"frame {number} was lost, with some more words to fill the line")
    sizes = [path.stat().st_size for path in tmp_path.iterdir()]
    assert len(sizes) == 1 + logs.OLD_LOGS
    assert max(sizes) <= 2000
    assert "frame 999 " in (tmp_path / "log").read_text()


def test_a_message_that_is_repeated_is_counted_not_written(tmp_path):
    with logging_to(tmp_path / "log", as_json=False):
        for number in range(1000):
            log.warning("frame %s failed", number, extra={"camera": "door"})
        log.warning("frame %s failed", 0, extra={"camera": "yard"})
    assert len((tmp_path / "log").read_text().splitlines()) == 2


def test_a_log_file_that_cannot_be_written_is_one_line(pictures):
    command = ("watch", pictures / "frames", "--people", pictures / "people", "--home", "h")
    text = error_of(onlooker(*command, "--log-file", "no/such/folder"))
    assert "cannot log into no/such/folder: No such file" in text
