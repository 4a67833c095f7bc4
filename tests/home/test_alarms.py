"""Alarms: who takes over a name is noticed, once, and nobody else is."""

from itertools import cycle, islice

import numpy as np
import pytest
from scipy.stats import spearmanr

from helpers.homes import crash, opened, png
from onlooker import HeatKernel, OnlineHarmonicLearner
from onlooker.home.alarms import (
    AT_CAMERA,
    DRIFTED,
    ESTABLISHED,
    FAR,
    MOVED,
    REGION_FACES,
    RUN,
    TOUCHES,
    Alarm,
    AlarmWatch,
    _rank_correlation,
)
from onlooker.home.events import digest

LENGTHS = (1, 6, 30, 100)
VICTIM, ATTACKER, OTHER = np.eye(128)[:3]


def new_learner():
    return OnlineHarmonicLearner(HeatKernel(0.19, 9.5e-6))


def faces(rng, person, count, spread=0.02):
    """Faces of one person are about 0.3 from each other, those of two people 1.4."""
    rows = person + spread * rng.normal(size=(count, 128))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def morph(rng, length):
    shares = (np.arange(length) + 0.5) / length
    return [faces(rng, (1 - at) * VICTIM + at * ATTACKER, 1)[0] for at in shares]


def settle(home, rng, name="ana", person=VICTIM):
    """Label somebody, and have them seen for a while."""
    for x in faces(rng, person, 4):
        home.teach(x, name)
    see(home, faces(rng, person, 2 * ESTABLISHED))


def see(home, rows, camera="door"):
    for x in rows:
        home.observe(x, camera=camera, frame=int(home.sequence), picture=png())


def alarms(home):
    return [Alarm.of(event.changes[0]) for event in home.events(kind="alarm")]


@pytest.fixture
def home(tmp_path):
    with opened(tmp_path, new_learner=new_learner) as home:
        yield home


@pytest.mark.parametrize("length", LENGTHS)
def test_a_morph_raises_one_alarm_with_the_name_and_the_faces(home, length):
    rng = np.random.default_rng(length)
    settle(home, rng)
    see(home, morph(rng, length))
    see(home, faces(rng, ATTACKER, 20))
    assert home.predict(ATTACKER).label == "ana", "nothing was taken"
    (alarm,) = alarms(home)
    assert alarm.name == "ana"
    assert alarm.kind in ("region", "drift")
    assert alarm.words.startswith("is this ana?")
    known = home.vertices()
    rows = dict(zip(known.ids.tolist(), known.vectors, strict=True))
    assert all(rows[vertex] @ ATTACKER > rows[vertex] @ VICTIM for vertex in alarm.vertices)
    assert alarm.bridge in rows
    assert set(alarm.vertices) <= set(home.album.vertices()), "their pictures can be shown"
    see(home, faces(rng, ATTACKER, 3 * RUN))
    see(home, faces(rng, VICTIM, RUN))
    assert alarms(home) == [alarm], "once for a region"


def test_the_event_of_an_alarm_says_where_and_whoever_wants_to_know_is_called(home):
    rng, heard = np.random.default_rng(1), []
    home.on_alarm = heard.append
    settle(home, rng)
    see(home, morph(rng, 6))
    see(home, faces(rng, ATTACKER, RUN), camera="door")
    (event,) = home.events(kind="alarm")
    assert heard == [event]
    assert (event.camera, event.kind) == ("door", "alarm")
    (learned,) = home.events(event.sequence - 2, 1)
    assert (learned.kind, learned.frame) == ("observe", event.frame)


@pytest.mark.parametrize("how", ["close", "crash"])
def test_a_home_that_is_opened_again_has_its_alarm_and_does_not_repeat_it(tmp_path, how):
    rng = np.random.default_rng(2)
    home = opened(tmp_path, new_learner=new_learner)
    settle(home, rng)
    see(home, morph(rng, 6))
    see(home, faces(rng, ATTACKER, RUN))
    before, word = alarms(home), digest(home.learner)
    assert len(before) == 1
    home.close() if how == "close" else crash(home)
    with opened(tmp_path, new_learner=new_learner) as again:
        assert not again.problems
        assert digest(again.learner) == word
        see(again, faces(rng, VICTIM, 2 * ESTABLISHED))
        see(again, faces(rng, ATTACKER, 2 * RUN))
        assert alarms(again) == before


def test_who_comes_again_after_everything_was_removed_raises_another(home):
    rng = np.random.default_rng(3)
    settle(home, rng)
    see(home, morph(rng, 6))
    see(home, faces(rng, ATTACKER, RUN))
    known = home.vertices()
    for vertex in known.ids[known.vectors @ VICTIM < 0.95].tolist():
        home.drop(vertex)
    assert home.predict(ATTACKER).label is None
    see(home, faces(rng, VICTIM, 2 * ESTABLISHED))
    see(home, morph(rng, 6))
    see(home, faces(rng, ATTACKER, RUN))
    assert [alarm.name for alarm in alarms(home)] == ["ana", "ana"]


def test_nobody_is_suspected_for_coming_in_another_light_or_scattered(home):
    """Light that moves every face by the same, within a link; and faces half covered, which are
    beyond it, but less alike than those of somebody else."""
    rng = np.random.default_rng(4)
    settle(home, rng)
    dim = VICTIM + 0.75 * OTHER
    see(home, faces(rng, dim, 4 * RUN))
    covered = faces(rng, VICTIM + 3 * OTHER, 8 * RUN, spread=0.15)
    accepted = [home.observe(x, camera="door", frame=0) for x in covered]
    assert {each.support for each in accepted} == {"inferred"}
    distances = [home.learner.label_distance(x, "ana") for x in covered]
    assert np.median(distances) > FAR * home.learner.kernel.reach
    see(home, faces(rng, VICTIM, 4 * RUN))
    assert alarms(home) == []


def test_somebody_who_was_hardly_ever_near_the_labels_is_not_suspected(home):
    """Labeled in the dark and seen in the light, which no distance tells from a takeover."""
    rng = np.random.default_rng(5)
    for x in faces(rng, VICTIM, 4):
        home.teach(x, "ana")
    see(home, morph(rng, 6))
    see(home, faces(rng, ATTACKER, 4 * RUN))
    assert home.predict(ATTACKER).label == "ana"
    assert alarms(home) == []


def test_a_takeover_of_who_is_mostly_not_linked_to_a_label_is_noticed(home):
    """Two of five faces were linked, as those of somebody who is often blurred or covered."""
    rng = np.random.default_rng(4)
    settle(home, rng)
    see(home, faces(rng, VICTIM + 0.75 * OTHER, 5))
    see(home, faces(rng, VICTIM + 3 * OTHER, 6 * RUN, spread=0.15))
    see(home, faces(rng, VICTIM, 1))
    assert alarms(home) == []
    see(home, morph(rng, 6))
    see(home, faces(rng, ATTACKER, 2 * RUN))
    assert home.predict(ATTACKER).label == "ana"
    assert [alarm.kind for alarm in alarms(home)] == ["region"]


def test_a_region_is_remembered_by_its_first_and_its_newest_faces(home):
    """So that it is known again where it began and where it is now, in bounded memory."""
    rng = np.random.default_rng(1)
    settle(home, rng)
    attacker = np.array([*morph(rng, 6), *faces(rng, ATTACKER, 8 * RUN)])
    see(home, attacker)
    assert len(alarms(home)) == 1
    (region,) = home._watch._regions
    assert len(region) == REGION_FACES
    places = [int(np.abs(attacker - x).sum(axis=1).argmin()) for x in region]
    half = REGION_FACES // 2
    assert max(places[:half]) < 3 * RUN
    assert min(places[half:]) > 5 * RUN


def test_a_slow_morph_is_a_drift_before_it_is_complete(home):
    rng = np.random.default_rng(6)
    settle(home, rng)
    see(home, morph(rng, 200)[:150])
    (alarm,) = alarms(home)
    assert alarm.kind == "drift"


def turned(angle):
    """The victim's face, so far on the way to another one."""
    return np.cos(angle) * VICTIM + np.sin(angle) * OTHER


def test_visits_that_come_ever_farther_away_are_no_drift(home):
    """As far as a morph leads, and as steadily, but with a jump between two visits."""
    rng = np.random.default_rng(12)
    settle(home, rng)
    for angles in (np.linspace(0.0, 0.35, 32), np.linspace(0.85, 1.1, 48)):
        for angle in angles:
            see(home, faces(rng, turned(angle), 1))
    last = faces(rng, turned(1.1), 9)
    assert away(home, last) > DRIFTED
    assert {home.predict(x).label for x in last} == {"ana"}
    assert alarms(home) == []


def test_a_region_must_have_moved_and_must_not_scatter(home):
    """Neither of the two alone raises an alarm; both together do."""
    rng = np.random.default_rng(13)
    settle(home, rng)
    for angle in (0.4, 0.8):
        see(home, faces(rng, turned(angle), 3))
    near, far = (faces(rng, turned(angle), 2 * RUN, spread=0.012) for angle in (1.05, 1.25))
    scattered = faces(rng, turned(1.25), 3 * RUN, spread=0.05)
    assert moved(home, near) < MOVED < moved(home, scattered) < moved(home, far)
    for rows in (near, scattered):
        see(home, rows)
        assert {home.predict(x).support for x in rows} == {"inferred"}
        assert alarms(home) == []
        see(home, faces(rng, VICTIM, 1))  # what follows is another run
    see(home, far)
    assert [alarm.kind for alarm in alarms(home)] == ["region"]


def moved(home, rows):
    """The distance of their mean from the faces that are linked to a label, in reaches."""
    return np.linalg.norm(rows.mean(axis=0) - VICTIM) / home.learner.kernel.reach


def away(home, rows):
    """The median distance from the labels, in reaches."""
    gaps = [home.learner.label_distance(x, "ana") for x in rows]
    return np.median(gaps) / home.learner.kernel.reach


def test_two_people_who_touch(home):
    rng = np.random.default_rng(7)
    settle(home, rng)
    settle(home, rng, "ben", ATTACKER)
    assert alarms(home) == []
    see(home, faces(rng, VICTIM + ATTACKER, RUN))
    (alarm,) = alarms(home)
    assert (alarm.kind, {alarm.name, alarm.other}) == ("touching", {"ana", "ben"})


def test_faces_that_touch_somebody_else_need_not_come_in_a_row(home):
    rng = np.random.default_rng(7)
    settle(home, rng)
    settle(home, rng, "ben", ATTACKER)
    between = VICTIM + 0.9 * ATTACKER
    see(home, faces(rng, between, TOUCHES - 1))
    see(home, faces(rng, VICTIM, 1))
    assert alarms(home) == []
    see(home, faces(rng, between, 1))
    assert [(alarm.kind, alarm.name, alarm.other) for alarm in alarms(home)] == [
        ("touching", "ana", "ben")
    ]


def test_one_camera_that_differs_from_the_others(home):
    rng = np.random.default_rng(8)
    settle(home, rng)
    near = VICTIM + 0.8 * OTHER  # linked; what follows is not, but too near to be a region
    middle, far = VICTIM + 1.5 * OTHER, VICTIM + 3 * OTHER
    see(home, faces(rng, near, 2), camera="yard")
    see(home, faces(rng, middle, 2), camera="yard")
    see(home, faces(rng, far, 50, spread=0.15), camera="yard")
    assert [(alarm.kind, alarm.other) for alarm in alarms(home)] == [("camera", "yard")]


def test_the_faces_of_a_camera_that_differs_need_not_come_in_a_row(home):
    rng = np.random.default_rng(8)
    settle(home, rng)
    far = VICTIM + 3 * OTHER
    for share in (0.8, 1.5):
        see(home, faces(rng, VICTIM + share * OTHER, 2), camera="yard")
    see(home, faces(rng, far, AT_CAMERA - 5, spread=0.15), camera="yard")
    see(home, faces(rng, far, 1, spread=0.15), camera="hall")
    assert alarms(home) == []
    see(home, faces(rng, far, 1, spread=0.15), camera="yard")
    assert [(alarm.kind, alarm.other) for alarm in alarms(home)] == [("camera", "yard")]
    (event,) = home.events(kind="alarm")
    assert event.camera == "yard"


def test_faces_at_equal_distances_are_no_drift_by_their_order():
    """Equal values share their mean rank, whatever came first."""
    rng = np.random.default_rng(14)
    for count in (5, 40):
        values = rng.integers(0, 6, count).astype(float)
        expected = spearmanr(np.arange(count), values).statistic
        assert _rank_correlation(values) == pytest.approx(expected)


def test_a_face_that_a_person_labels_is_where_the_name_may_be(home):
    rng = np.random.default_rng(9)
    settle(home, rng)
    see(home, morph(rng, 6))
    attacker = faces(rng, ATTACKER, RUN + 5)
    see(home, attacker[: RUN - 5])
    home.teach(attacker[RUN - 5], "ana")  # it is ana after all
    see(home, attacker)
    assert alarms(home) == []


@pytest.mark.parametrize("name", ["ana", "ben"])
def test_an_alarm_is_forgotten_with_either_of_the_two_it_is_about(home, name):
    rng = np.random.default_rng(11)
    settle(home, rng)
    settle(home, rng, "ben", ATTACKER)
    see(home, faces(rng, VICTIM + ATTACKER, RUN))
    assert len(alarms(home)) == 1
    home.teach(OTHER, "cem")
    home.forget("cem")
    assert len(alarms(home)) == 1, "it is not about everybody"
    home.forget(name)
    assert alarms(home) == []
    assert not home.mentions(name)
    see(home, faces(rng, VICTIM, 5))
    see(home, faces(rng, ATTACKER, 5))


def test_an_alarm_costs_little_beside_the_step(home):
    """Examined are only runs of faces that are not linked to a label, and not all of those."""
    rng, counted = np.random.default_rng(10), []

    class Counting(OnlineHarmonicLearner):
        def state(self):
            counted.append(1)
            return super().state()

    learner = Counting(HeatKernel(0.19, 9.5e-6))
    for x in faces(rng, VICTIM, 4):
        learner.teach(x, "ana")
    watch = AlarmWatch()
    for x in islice(cycle(faces(rng, VICTIM, 50)), 300):
        watch.note(learner, x, learner.observe(x), "door")
    assert not counted
