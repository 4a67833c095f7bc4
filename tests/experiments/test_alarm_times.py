"""Alarms in time: on shades, where everything between two people can be blended."""

from dataclasses import asdict

import pytest

from helpers.shades import one_by_one, shade_finder, write_shades
from onlooker import HeatKernel
from onlooker.core.errors import BadValue
from onlooker.experiments import alarm_times
from onlooker.experiments.alarm_times import (
    ATTACKED,
    IN_TIME,
    LongStream,
    alarms,
    alarms_of_long_run,
    attack_frames,
)
from onlooker.experiments.paper.setup import Setup
from onlooker.experiments.parallel import running_on
from onlooker.experiments.report.html import drawing
from onlooker.vision.scales import DEFAULT_SCALES


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(alarm_times, "LENGTHS", (1, 30))
    return tmp_path


def test_takeovers_raise_an_alarm_in_time_and_streams_without_one_raise_none(folder):
    data = write_shades(folder, ("ana", "ben"), 60, period=5)
    with running_on(one_by_one):
        section, rows = alarms(Setup(data=data, seeds=1, finder=shade_finder()))
    taken = [row for row in rows if hasattr(row, "victim")]
    honest = [row for row in rows if not hasattr(row, "victim")]
    assert {(row.attack, row.length) for row in taken} == {("morph", 30)}
    assert {row.victim for row in taken} == {"ana", "ben"}
    for row in taken:
        assert row.frames is not None
        assert row.frames <= IN_TIME
        assert row.frames_from_possible >= row.frames
        assert row.alarms == 1
    assert [row.people for row in honest] == ["", "ana", "ben"]
    assert all(row.shown > 0 and not row.false_alarms and not row.right_alarms for row in honest)
    assert "100.0% raise an alarm within 20 frames" in section.found
    assert "0 false alarms" in section.found
    (figure,) = section.figures
    assert drawing(figure).count("<svg") == 1
    for each in section.tables:
        assert all(len(row) == len(each.header) for row in each.rows)
    assert asdict(rows[0])["alarm"] in ("region", "drift")


def test_the_people_of_the_last_seeds_are_attacked_and_not_those_the_rule_was_chosen_on(folder):
    data = write_shades(folder, ("ana", "ben"), 60, period=5)
    with running_on(one_by_one):
        _, rows = alarms(Setup(data=data, seeds=ATTACKED + 1, finder=shade_finder()))
    attacked = {row.seed for row in rows if hasattr(row, "victim")}
    assert attacked == set(range(1, ATTACKED + 1))
    assert {row.seed for row in rows} == {0, *attacked}  # streams are watched with all seeds


def test_frames_of_an_attack_say_which_are_ordinary_faces_of_the_attacker():
    own, theirs = [["own"]] * 3, [["first"], ["second"]]
    frames = attack_frames(own, theirs, [None, *[["blend"]] * 99])
    assert not any(frame.attacker for frame in frames["morph", 6])
    assert [frame.attacker for frame in frames["companions", 6]] == [True, False] * 3
    assert all(frame.attacker for frame in frames["mislabeled", 6])
    assert {tuple(frame.vector) for frame in frames["mislabeled", 6]} == {("second",)}
    assert len(frames["morph", 100]) == 99  # one was refused


def test_a_name_would_be_taken_before_an_ordinary_face_takes_it(folder):
    """A morph of thirty frames ends at the attacker: the alarm is later from where it could have
    ended, and never counted from a blend."""
    data = write_shades(folder, ("ana", "ben"), 60, period=5)
    with running_on(one_by_one):
        _, rows = alarms(Setup(data=data, seeds=1, finder=shade_finder()))
    for row in (row for row in rows if hasattr(row, "victim")):
        assert 0 < row.frames_from_possible - row.frames < row.length


def test_weeks_in_which_nobody_attacks_raise_no_alarm_and_every_face_is_counted():
    scale = DEFAULT_SCALES["sface"]
    job = LongStream(0, HeatKernel(scale.bandwidth, scale.cutoff), n_g=500, frames=3000)
    row = alarms_of_long_run(job)
    labels = sum(step.labeled for step in job.steps())
    assert (row.set, row.shown) == ("long-run", 3000 - labels)
    assert row.accepted > 1000
    assert (row.false_alarms, row.right_alarms) == (0, 0)
    assert {step.camera for step in job.steps()} == {"camera0", "camera1", "camera2"}


def test_one_person_alone_cannot_be_taken_over(folder):
    data = write_shades(folder, ("ana",), 16)
    with pytest.raises(BadValue, match="need two people"):
        alarms(Setup(data=data, seeds=1, finder=shade_finder()))
