"""A site without Ray: numbers, gaps, repetition, restarts."""

from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from helpers.homes import files_with
from helpers.sites import LEARNER_CONFIG, example
from onlooker import ClosestPair, ClosestSafePair, Doubling, HeatKernel
from onlooker.cluster.codec import decode_batch, encode_batch
from onlooker.cluster.messages import ClusterError, LearnerConfig, NumberedExample, SenderReplaced
from onlooker.cluster.sender import Sender
from onlooker.cluster.site import LocalSite, PendingForgets, Site
from onlooker.cluster.transport import SiteUnavailable
from onlooker.core.errors import BadValue, Incompatible
from onlooker.home.database import NotSaved
from onlooker.home.events import digest
from onlooker.home.retention import RetentionPolicy


def numbered(number, site=0):
    x, name = example(site, number)
    return NumberedExample(number, x, name, frame=number)


def undisturbed(count, site=0):
    learner = LEARNER_CONFIG.learner()
    for number in range(1, count + 1):
        x, name = example(site, number)
        learner.observe(x) if name is None else learner.teach(x, name)
    return learner


def killed(site):
    """What kill -9 leaves: the files, and no lock."""
    site.home._files.database._connection.close()
    site.home._files._lock.release()


def test_batches_of_any_size_learn_what_single_examples_do(tmp_path):
    words = set()
    for size in (1, 7, 64):
        site = Site(
            "a", tmp_path / str(size), LEARNER_CONFIG, retention=RetentionPolicy(snapshot_every=10)
        )
        session = site.open_session("door").session
        for first in range(1, 121, size):
            batch = [numbered(number) for number in range(first, min(first + size, 121))]
            assert site.receive("door", session, batch, first - 1).expected is None
        words.add(digest(site.home.learner))
        site.close()
    assert words == {digest(undisturbed(120))}


def test_a_gap_is_refused_and_nothing_behind_it_is_taken(tmp_path):
    site = Site("a", tmp_path, LEARNER_CONFIG)
    session = site.open_session("door").session
    batch = [numbered(1), numbered(2), numbered(4), numbered(5)]
    delivery = site.receive("door", session, batch, 0)
    assert (delivery.expected, [each.number for each in delivery.answers]) == (3, [1, 2])
    assert site.report().gaps == 1
    assert digest(site.home.learner) == digest(undisturbed(2))
    site.close()


def test_out_of_order_within_a_batch_is_a_gap_too(tmp_path):
    site = Site("a", tmp_path, LEARNER_CONFIG)
    session = site.open_session("door").session
    delivery = site.receive("door", session, [numbered(2), numbered(1)], 0)
    assert delivery.expected == 1
    assert delivery.answers == ()
    site.close()


def test_what_is_delivered_twice_is_counted_once_and_answered_alike(tmp_path):
    site = Site("a", tmp_path, LEARNER_CONFIG)
    session = site.open_session("door").session
    batch = [numbered(number) for number in range(1, 31)]
    first = site.receive("door", session, batch, 0)
    second = site.receive("door", session, batch, 0)
    assert all(answer.duplicate for answer in second.answers)
    assert [a.prediction for a in second.answers] == [a.prediction for a in first.answers]
    assert digest(site.home.learner) == digest(undisturbed(30))
    assert site.report().duplicates == 30
    site.close()


def test_two_cameras_number_their_examples_independently(tmp_path):
    site = Site("a", tmp_path, LEARNER_CONFIG)
    for camera in ("door", "yard"):
        session = site.open_session(camera).session
        assert site.receive(camera, session, [numbered(1)], 0).expected is None
    assert site.report().last_numbers == {"door": 1, "yard": 1}
    site.close()


@pytest.mark.parametrize("last", [11, 12, 13])
def test_after_kill_9_the_first_unacknowledged_example_goes_on(tmp_path, last):
    """12 is an outlier, of which the disk knows nothing: the sender's word stands for it."""
    site = Site("a", tmp_path, LEARNER_CONFIG)
    session = site.open_session("door").session
    site.receive("door", session, [numbered(n) for n in range(1, last + 1)], 0)
    killed(site)
    again = Site("a", tmp_path, LEARNER_CONFIG)
    # The last two were applied, but their acknowledgement was lost on the way.
    batch = [numbered(n) for n in range(last - 1, 31)]
    delivery = again.receive("door", session, batch, last - 2)
    assert delivery.expected is None
    assert digest(again.home.learner) == digest(undisturbed(30))
    again.close()


def test_a_restarted_site_still_refuses_what_was_never_acknowledged(tmp_path):
    site = Site("a", tmp_path, LEARNER_CONFIG)
    session = site.open_session("door").session
    site.receive("door", session, [numbered(n) for n in range(1, 8)], 0)
    killed(site)
    again = Site("a", tmp_path, LEARNER_CONFIG)
    assert again.receive("door", session, [numbered(9)], 7).expected == 8
    again.close()


def test_numbers_survive_a_forgetting_which_erases_the_journal(tmp_path):
    site = Site("a", tmp_path, LEARNER_CONFIG)
    session = site.open_session("door").session
    site.receive("door", session, [numbered(n) for n in range(1, 12)], 0)
    assert site.forget("person1").state == "done"
    event = site.home.sequence
    killed(site)
    again = Site("a", tmp_path, LEARNER_CONFIG)
    delivery = again.receive("door", session, [numbered(n) for n in range(8, 12)], 7)
    assert all(answer.duplicate for answer in delivery.answers)
    assert again.home.sequence == event
    again.close()


def test_a_batch_that_cannot_be_committed_leaves_no_trace(tmp_path):
    site = Site("a", tmp_path, LEARNER_CONFIG, retention=RetentionPolicy(retry_seconds=0))
    session = site.open_session("door").session
    site.receive("door", session, [numbered(n) for n in range(1, 21)], 0)
    before, event = digest(site.home.learner), site.home.sequence
    site.home._files.database.query("PRAGMA max_page_count = 1")  # a disk without room
    big = [NumberedExample(n, example(0, n)[0], "x" * 90_000 + str(n)) for n in range(21, 40)]
    with pytest.raises(NotSaved):
        site.receive("door", session, big, 20)
    assert (digest(site.home.learner), site.home.sequence) == (before, event)
    site.home._files.database.query("PRAGMA max_page_count = 1000000")
    rest = [numbered(n) for n in range(21, 61)]
    assert site.receive("door", session, rest, 20).expected is None
    assert digest(site.home.learner) == digest(undisturbed(60))
    site.close()


@pytest.mark.parametrize("acknowledged", [10**30, 8, 7, -1])
def test_an_acknowledgement_of_what_is_sent_again_is_not_believed(tmp_path, acknowledged):
    """Otherwise all that the camera sends from then on would be a duplicate."""
    with closing(Site("north", tmp_path, LEARNER_CONFIG)) as site:
        session = site.open_session("door").session
        site.receive("door", session, [numbered(n) for n in range(1, 7)], 0)
        with pytest.raises(ClusterError, match="one of the two is wrong"):
            site.receive("door", session, [numbered(7)], acknowledged)
        assert site.receive("door", session, [], 10**30).expected is None
        assert site.receive("door", session, [numbered(7)], 6).answers[0].duplicate is False


@pytest.mark.parametrize(("number", "frame"), [(2**63, 0), (10**30, 0), (1, 2**63), (1, -1)])
def test_a_number_that_no_database_stores_is_refused_alike_with_and_without_a_wire(
    tmp_path, number, frame
):
    batch, messages = [NumberedExample(number, np.zeros(2), "ana", frame=frame)], set()
    with LocalSite(lambda: Site("north", tmp_path, LEARNER_CONFIG)) as site:
        session = site.open_session("door").session
        with pytest.raises(ClusterError, match="from 2\\^63 on") as caught:
            site.answer(site.send("door", session, batch, number - 1))
        messages.add(str(caught.value))
        travelled = decode_batch(encode_batch("door", session, batch, number - 1))
        with pytest.raises(ClusterError) as caught:
            site.call("receive", *travelled)
        messages.add(str(caught.value))
        last = 2**63 - 1
        largest = [NumberedExample(last, np.zeros(2), "ana", frame=last)]
        assert site.answer(site.send("door", session, largest, last - 1)).expected is None
    assert len(messages) == 1


def test_a_bad_vector_is_refused_by_itself_and_the_rest_goes_on(tmp_path):
    site = Site("a", tmp_path, LEARNER_CONFIG)
    session = site.open_session("door").session
    batch = [
        numbered(1),
        NumberedExample(2, np.zeros(3)),
        NumberedExample(3, np.full(8, np.nan)),
        numbered(4),
    ]
    answers = site.receive("door", session, batch, 0).answers
    assert [answer.refused is not None for answer in answers] == [False, True, True, False]
    assert "length 8, got one of length 3" in answers[1].refused
    site.close()


def test_vectors_of_two_lengths_before_the_first_label_stop_no_camera(tmp_path):
    """The second was a raw exception, and the sender repeated the batch for ever."""
    with closing(Site("north", tmp_path / "north", LEARNER_CONFIG)) as site:
        session = site.open_session("door").session
        for number, length in enumerate((3, 5, 5, 8, 2), start=1):
            sent = [NumberedExample(number, np.ones(length))]
            (answer,) = site.receive("door", session, sent, number - 1).answers
            assert (answer.prediction.label, answer.refused) == (None, None)
        assert len(site.find_face(np.ones(5))) == 1
        (taught,) = site.receive(
            "door", session, [NumberedExample(6, np.ones(8), "ana")], 5
        ).answers
        assert taught.refused is None
        assert site.find_face(np.ones(8))


def test_an_older_sender_of_the_same_camera_is_refused(tmp_path):
    site = Site("a", tmp_path, LEARNER_CONFIG)
    old = site.open_session("door").session
    site.receive("door", old, [numbered(1), numbered(2)], 0)
    opened = site.open_session("door")
    assert opened.last == 2
    with pytest.raises(SenderReplaced, match="newest one counts"):
        site.receive("door", old, [numbered(3)], 2)
    killed(site)
    again = Site("a", tmp_path, LEARNER_CONFIG)
    with pytest.raises(SenderReplaced):
        again.receive("door", old, [numbered(3)], 2)
    assert again.receive("door", opened.session, [numbered(3)], 2).expected is None
    again.close()


def test_a_sender_without_a_name_is_refused(tmp_path):
    site = Site("a", tmp_path, LEARNER_CONFIG)
    for name in ("", "a\nb"):
        with pytest.raises(BadValue, match="printable name"):
            site.open_session(name)
    site.close()


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (
            LearnerConfig(
                LEARNER_CONFIG.kernel, "test/9", LEARNER_CONFIG.max_vertices, LEARNER_CONFIG.sink
            ),
            "features",
        ),
        (
            LearnerConfig(
                HeatKernel(0.5, 1e-4),
                LEARNER_CONFIG.features,
                LEARNER_CONFIG.max_vertices,
                LEARNER_CONFIG.sink,
            ),
            "kernel",
        ),
        (
            LearnerConfig(LEARNER_CONFIG.kernel, LEARNER_CONFIG.features, 21, LEARNER_CONFIG.sink),
            "max_vertices",
        ),
        (replace(LEARNER_CONFIG, trust_radius=0.5), "trust_radius"),
    ],
)
def test_a_home_of_another_recipe_is_refused(tmp_path, other, what):
    Site("a", tmp_path, LEARNER_CONFIG).close()
    with pytest.raises(Incompatible, match=what):
        Site("a", tmp_path, other)
    Site("a", tmp_path, LEARNER_CONFIG).close()  # and it was let go of


def test_a_home_keeps_its_kind_of_closest_pair_and_another_quantizer_is_refused(tmp_path):
    Site("a", tmp_path, replace(LEARNER_CONFIG, quantizer=ClosestPair())).close()
    site = Site("a", tmp_path, replace(LEARNER_CONFIG, quantizer=ClosestSafePair()))
    assert site.home.learner.quantizer == ClosestPair()
    assert site.snapshot().learner().quantizer == ClosestSafePair(), "as all parts of a merge"
    site.close()
    with pytest.raises(Incompatible, match="quantizer"):
        Site("a", tmp_path, replace(LEARNER_CONFIG, quantizer=Doubling()))


def test_downtime_after_a_kill_is_reported_and_an_orderly_close_has_none(tmp_path):
    now = [1000.0]
    site = Site("a", tmp_path, LEARNER_CONFIG, clock=lambda: now[0])
    assert site.report().downtime is None
    site.close()
    now[0] = 2000.0
    site = Site("a", tmp_path, LEARNER_CONFIG, clock=lambda: now[0])
    assert site.report().downtime is None
    session = site.open_session("door").session
    now[0] = 2010.0
    site.receive("door", session, [numbered(1)], 0)
    killed(site)
    now[0] = 2050.0
    site = Site("a", tmp_path, LEARNER_CONFIG, clock=lambda: now[0])
    assert site.report().downtime == pytest.approx(40.0)
    site.close()


def test_what_is_to_be_forgotten_is_before_anything_else(tmp_path):
    site = Site("a", tmp_path, LEARNER_CONFIG)
    session = site.open_session("door").session
    site.receive("door", session, [numbered(n) for n in range(1, 20)], 0)
    killed(site)
    PendingForgets(tmp_path).add("person1")
    site = Site("a", tmp_path, LEARNER_CONFIG)
    assert "person1" not in site.home.learner.names
    assert not list(tmp_path.glob("forget/*"))
    # A site that serves, but did not answer in time, does so before its next answer.
    PendingForgets(tmp_path).add("person2")
    assert "person2" not in site.predict(numbered(1).vector).scores
    assert "person2" not in site.snapshot().state.names
    site.close()


def test_a_name_whose_recording_was_killed_does_not_stay_on_the_disk(tmp_path):
    Site("a", tmp_path, LEARNER_CONFIG).close()
    (tmp_path / "forget").mkdir()
    (tmp_path / "forget" / ".onlooker-1a2b3c.tmp").write_text('{"forget": "person1"}')
    PendingForgets(tmp_path).add("person2")
    Site("a", tmp_path, LEARNER_CONFIG).close()
    assert files_with(tmp_path, b"person1", b"person2") == []


def test_labels_from_elsewhere_are_learned_once_and_conflicts_are_reported(tmp_path):
    here, there = (
        Site("a", tmp_path / "a", LEARNER_CONFIG),
        Site("b", tmp_path / "b", LEARNER_CONFIG),
    )
    for site, names in ((here, ("ana", "ben")), (there, ("cem", "ben"))):
        session = site.open_session("door").session
        points = [np.full(8, 3.0 * at, np.float32) for at in range(2)]
        rows = [
            NumberedExample(n + 1, x, name)
            for n, (x, name) in enumerate(zip(points, names, strict=True))
        ]
        site.receive("door", session, rows, 0)
    taught = here.learn_labels(there.labels(), "site b")
    assert taught.new == 0
    assert "'ana'" in taught.refused[0]
    assert "'cem'" in taught.refused[0]
    there.forget("cem")
    assert there.learn_labels(here.labels(), "site a").new == 1
    assert there.learn_labels(here.labels(), "site a").new == 0
    assert sorted(there.home.learner.names) == ["ana", "ben"]
    (event,) = [each for each in there.home.events() if each.camera == "site a"]
    assert event.kind == "teach"
    here.close()
    there.close()


# ---- senders


def open_site(folder):
    return lambda: Site("a", folder, LEARNER_CONFIG)


def test_a_recording_is_delivered_whole_without_ray(tmp_path):
    with LocalSite(open_site(tmp_path)) as site:
        senders = [Sender(camera, lambda: site, queue_size=4) for camera in ("door", "yard")]
        for number in range(1, 61):
            x, name = example(0, number)
            senders[0].put(x, name=name, frame=number)
        assert senders[0].close(20).acknowledged == 60
        assert senders[1].close(20).acknowledged == 0
        assert site.call("report").last_numbers == {"door": 60}
    again = Site("a", tmp_path, LEARNER_CONFIG)
    assert digest(again.home.learner) == digest(undisturbed(60))
    again.close()


class Faulty:
    """A transport that loses calls, delivers twice, or loses answers, as a list says."""

    def __init__(self, site, faults):
        self.site, self.faults = site, faults

    def open_session(self, sender):
        return self.site.open_session(sender)

    def send(self, sender, session, batch, acknowledged):
        fault = self.faults.pop(0) if self.faults else "fine"
        if fault == "lost call":
            raise SiteUnavailable("cut")
        if fault == "held back":
            return None
        sent = self.site.send(sender, session, batch, acknowledged)
        if fault == "twice":
            sent = self.site.send(sender, session, batch, acknowledged)
        return None if fault == "lost answer" else sent

    def answer(self, sent):
        if sent is None:
            raise SiteUnavailable("cut")
        return self.site.answer(sent)


def test_calls_that_are_lost_repeated_or_held_back_change_nothing(tmp_path):
    kinds = ["fine", "lost call", "twice", "lost answer", "held back"]
    rng = np.random.default_rng(4)
    faults = [kinds[at] for at in rng.integers(len(kinds), size=60)]
    with LocalSite(open_site(tmp_path)) as site:
        sender = Sender("door", lambda: Faulty(site, faults), batch_size=3)
        for number in range(1, 201):
            x, name = example(0, number)
            sender.put(x, name=name, frame=number)
        sent = sender.close(60)
        assert (sent.acknowledged, sent.dropped) == (200, 0)
        assert sent.outages > 5
        assert sent.resent > 10
    again = Site("a", tmp_path, LEARNER_CONFIG)
    assert digest(again.home.learner) == digest(undisturbed(200))
    again.close()


class Dead:
    def open_session(self, sender):
        raise SiteUnavailable("nobody there")


def test_a_site_that_stays_away_is_an_error_with_a_count(tmp_path):
    sender = Sender("door", Dead, give_up_after=0.2)
    sender.put(np.zeros(8))
    with pytest.raises(ClusterError, match=r"0\.2 s \(nobody there\); 1 examples were not"):
        sender.flush(20)
    with pytest.raises(ClusterError):
        sender.put(np.zeros(8))
    sender.abandon()


def test_a_live_camera_drops_the_oldest_and_counts_them():
    sender = Sender("door", Dead, live=True, queue_size=5, give_up_after=60)
    for _ in range(12):
        sender.put(np.zeros(8))
    assert sender.counts.dropped == 7
    sender.abandon()


def test_a_site_whose_folder_became_older_is_noticed(tmp_path):
    """The acknowledged examples of a folder that was replaced by an old copy are not there."""
    with (
        LocalSite(open_site(tmp_path / "new")) as new,
        LocalSite(open_site(tmp_path / "old")) as old,
    ):
        old.call(
            "open_session", "door"
        )  # the old copy knows the camera, and nothing of its examples
        transport = Faulty(new, [])
        sender = Sender("door", lambda: transport)
        for number in range(1, 6):
            sender.put(example(0, number)[0], name=example(0, number)[1])
        sender.flush(10)
        transport.site = old
        sender.put(example(0, 6)[0], name=example(0, 6)[1])
        with pytest.raises(ClusterError, match="acknowledged examples are lost"):
            sender.flush(10)
        sender.abandon()


def test_sites_of_other_kernels_or_features_are_not_merged_and_both_are_named(tmp_path):
    pytest.importorskip("ray")
    from onlooker.cluster.merging import combine

    others = (
        LearnerConfig(
            HeatKernel(0.5, 1e-4),
            LEARNER_CONFIG.features,
            LEARNER_CONFIG.max_vertices,
            LEARNER_CONFIG.sink,
        ),
        LearnerConfig(
            LEARNER_CONFIG.kernel, "test/9", LEARNER_CONFIG.max_vertices, LEARNER_CONFIG.sink
        ),
    )
    parts = []
    for at, learner_config in enumerate((LEARNER_CONFIG, *others)):
        site = Site(f"s{at}", tmp_path / str(at), learner_config)
        session = site.open_session("door").session
        site.receive("door", session, [numbered(1)], 0)
        parts.append(site.snapshot())
        site.close()
    for other, what in zip(parts[1:], ("kernel", "features"), strict=True):
        with pytest.raises(
            Incompatible, match=rf"s0 and {other.sites[0]} cannot be merged.*{what}"
        ):
            combine(parts[0], other)


def test_refused_vectors_are_part_of_a_snapshot_until_somebody_is_forgotten(tmp_path):
    site = Site("north", tmp_path, LEARNER_CONFIG)
    session = site.open_session("door").session
    stranger = NumberedExample(2, np.full(8, 90.0, np.float32))
    site.receive("door", session, [numbered(1), stranger], 0)
    site.receive("door", session, [stranger], 1)  # the same one again
    (refused,) = site.snapshot().refused
    assert np.array_equal(refused, stranger.vector)
    (name,) = site.report().names
    site.forget(name)
    assert site.snapshot().refused == ()
    site.close()


# ---- who was where


def face(number, x, name=None):
    return NumberedExample(number, np.asarray(x, np.float32), name)


def test_a_site_keeps_sightings_and_finds_a_face_again(tmp_path):
    now = [1000.0]
    config = LearnerConfig(HeatKernel(0.3, 1e-5), features="points")
    with closing(Site("a", tmp_path, config, clock=lambda: now[0])) as site:
        session = site.open_session("door").session
        ana, stranger = np.zeros(2), np.full(2, 9.0)
        first = [face(1, ana, "ana"), face(2, ana + 0.1), face(3, stranger), face(4, ana + 0.2)]
        site.receive("door", session, first, 0)
        site.receive("door", session, first[2:], 1)  # sent again: not counted twice
        site.receive("door", session, [face(5, stranger + 0.1)], 4)
        seen = [(one.name, one.time) for one in site.home.album.sightings()]
        assert seen == [("ana", 1000.0), (None, 1000.0)]
        now[0] += 3600
        site.receive("door", session, [face(6, ana + 0.1), face(7, stranger)], 5)
        (known,) = site.find_face(ana)
        (nobody,) = site.find_face(stranger)
        assert (known.name, known.count, known.last.time) == ("ana", 2, 4600.0)
        assert (nobody.name, nobody.card, nobody.count) == (None, None, 2)
        assert site.find_face(np.full(2, 50.0)) == []


def test_what_a_site_saw_expires_and_is_forgotten(tmp_path):
    now = [1e9]
    config = LearnerConfig(HeatKernel(0.3, 1e-5), features="points")
    with closing(Site("a", tmp_path, config, clock=lambda: now[0])) as site:
        session = site.open_session("door").session
        ana, like_her = np.array([0.111, 0.222]), np.array([0.3, 0.1])
        site.receive("door", session, [face(1, like_her), face(2, [7.0, 7.0])], 0)
        site.receive("door", session, [face(3, ana, "ana"), face(4, ana + 0.01)], 2)
        assert len(site.home.album.sightings()) == 3
        assert site.forget("ana").forgotten.sightings == 2  # who came before she had a name, too
        assert len(site.home.album.sightings()) == 1
        needles = [np.asarray(each, "f4").tobytes() for each in (like_her, ana + 0.01)]
        assert files_with(tmp_path, *needles) == []
        site.report()
        now[0] += 9 * 3600  # strangers are stored for hours
        site.home.trusted_clock = lambda: now[0]
        site.report()
        assert site.home.album.sightings() == []
