"""Several sites on a real Ray: the merged view, names everywhere, forgetting everywhere, clocks."""

import os
import signal
import time

import numpy as np
import pytest

from helpers.sites import LEARNER_CONFIG, example
from onlooker.home.events import digest

pytest.importorskip("ray")


class Sites:
    """Actors of a test, by name; gone afterwards."""

    def __init__(self, folder):
        self.folder, self.handles, self.prefix = folder, {}, folder.name

    def start(self, name, **options):
        from onlooker.cluster.ray_site import SiteSpec, start_site

        spec = SiteSpec(
            f"{self.prefix}-{name}",
            self.folder / name,
            options.pop("learner_config", LEARNER_CONFIG),
            **options,
        )
        self.handles[name] = start_site(spec, cpus=0.1, detached=False)
        return self.handles[name]

    def call(self, name, method, *arguments, within=60):
        from onlooker.cluster.ray_site import result_of

        return result_of(self.handles[name].call.remote(method, *arguments), within)

    def teach(self, name, rows):
        """Labeled points, as the camera `desk` would send them."""
        from onlooker.cluster.messages import NumberedExample

        opened = self.call(name, "open_session", "desk")
        batch = [
            NumberedExample(opened.last + 1 + at, np.asarray(x, np.float32), who)
            for at, (x, who) in enumerate(rows)
        ]
        return self.call(name, "receive", "desk", opened.session, batch, opened.last)

    def coordinator(self, **options):
        from onlooker.cluster.coordinator import Coordinator

        folders = {name: self.folder / name for name in self.handles}
        return Coordinator(folders, 3600, find=self.handles.__getitem__, **options)

    def stop_process(self, name):
        """The site never answers again, and is not dead either."""
        process = self.call(name, "report").process
        os.kill(process, signal.SIGSTOP)
        return process


@pytest.fixture
def sites(tmp_path, ray_here):
    made = Sites(tmp_path)
    yield made
    for handle in made.handles.values():
        ray_here.kill(handle)


def point(value):
    return np.full(8, value, np.float32)


def test_the_merged_view_is_what_uniting_here_gives_and_names_who_is_missing(sites):
    from onlooker.cluster.merging import merge_sites
    from onlooker.core.union import UnionSummary, union

    here = []
    for name in "ab":
        sites.start(name)
    for at, name in enumerate("ab"):
        learner, refused = LEARNER_CONFIG.learner(), []
        rows = [example(at, number) for number in range(1, 40)]
        for x, who in rows:
            if who is not None:
                learner.teach(x, who)
            elif learner.observe(x).label is None:
                refused.append(x)
        here.append(UnionSummary(learner, tuple(refused)))
        sites.teach(name, rows)
    view = merge_sites(sites.handles)
    assert (view.sites, view.missing) == (("a", "b"), ())
    assert any(part.refused for part in here)
    assert digest(view.learner) == digest(union(here).learner)
    assert view.learner.max_vertices == 2 * LEARNER_CONFIG.max_vertices
    process = sites.stop_process("b")
    try:
        began = time.monotonic()
        view = merge_sites(sites.handles, timeout=1.0, last_seen={"b": time.time() - 60, "d": None})
        assert time.monotonic() - began < 20
    finally:
        os.kill(process, signal.SIGCONT)
    assert view.sites == ("a",)
    silent, absent = view.missing
    assert (silent.site, silent.why) == ("b", "no answer within 1 s")
    assert 60 <= silent.age < 90
    assert (absent.site, absent.why, absent.age) == ("d", "it is not up", None)


def test_names_clocks_contradictions_and_forgetting_of_two_sites(sites):
    from onlooker.cluster.transport import SiteUnavailable

    sites.start("a")
    sites.start("b", clock_skew=120.0)
    sites.teach("a", [(point(0), "ana"), (point(3), "ben")])
    coordinator = sites.coordinator(timeout=20.0)
    sites.call("b", "report")
    states = {state.site: state for state in coordinator.visit()}
    # Names taught at one site are known at all after one round; a second one changes nothing.
    assert sites.call("b", "predict", point(3.01)).label == "ben"
    event = sites.call("b", "report").event
    coordinator.visit()
    assert sites.call("b", "report").event == event
    # A clock that is wrong is measured; nothing was ordered by it.
    assert (states["a"].skewed, states["b"].skewed) == (False, True)
    assert abs(states["b"].clock_skew - 120) <= states["b"].clock_error + 0.1
    assert any("s off" in words for words in states["b"].problems())
    # Two names at one place: reported, and not learned.
    sites.teach("a", [(point(9), "cem")])
    sites.teach("b", [(point(9), "dan")])
    states = {state.site: state for state in coordinator.visit()}
    assert any("'cem'" in words and "'dan'" in words for words in states["a"].problems())
    assert sites.call("a", "predict", point(9)).label == "cem"
    # Forgetting reaches a site that does not answer before it serves again.
    process = sites.stop_process("b")
    coordinator.timeout = 1.0
    coordinator.look()
    receipts = {receipt.site: receipt for receipt in coordinator.forget("ana")}
    (there,) = [each for each in receipts.values() if each.state == "pending"]
    assert "no answer" in there.why
    (done,) = [each for each in receipts.values() if each.state == "done"]
    assert done.forgotten.labeled == 1
    os.kill(process, signal.SIGKILL)
    names, deadline = None, time.monotonic() + 60
    while names is None and time.monotonic() < deadline:
        try:
            names = sites.call("b", "report").names
        except SiteUnavailable:
            time.sleep(0.1)
    assert set(names) == {"ben", "dan"}
    assert not list((sites.folder / "b" / "forget").iterdir())
    coordinator.timeout = 20.0
    coordinator.visit()
    assert "ana" not in sites.call("a", "report").names
    assert "ana" not in sites.call("b", "report").names
    coordinator.end()


def test_a_home_in_use_is_said_and_opened_once_it_is_free(sites):
    from onlooker.cluster.ray_site import result_of
    from onlooker.cluster.site import Site
    from onlooker.cluster.transport import SiteUnavailable

    held = Site("x", sites.folder / "a", LEARNER_CONFIG)
    handle = sites.start("a", lock_timeout=0.2)
    with pytest.raises(SiteUnavailable, match="in use by process"):
        result_of(handle.call.remote("report"), 60)
    held.close()
    assert sites.call("a", "report").names == ()


def test_a_face_is_found_at_all_sites_and_who_does_not_answer_is_named(sites):
    from onlooker.cluster.fleet import find_everywhere

    for name in ("north", "south"):
        sites.start(name)
        sites.teach(name, [(point(0.0), "ana"), (point(0.01), None), (point(9.0), None)])
    find = sites.handles.__getitem__
    found = find_everywhere(["north", "south"], point(0.0), 60, find=find)
    assert [(each.site, each.problem) for each in found] == [("north", ""), ("south", "")]
    assert [who.name for each in found for who in each.seen] == ["ana", "ana"]
    assert [each.seen for each in find_everywhere(["north"], point(50.0), 60, find=find)] == [()]
    sites.stop_process("south")
    north, south = find_everywhere(["north", "south"], point(9.0), 3, find=find)
    assert [who.name for who in north.seen] == [None]
    assert (south.site, south.seen) == ("south", ())
    assert "no answer within 3 s" in south.problem
