"""Sites and clusters that the code before version 3 of the database wrote go on where they were."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from helpers.homes import OLD_HOMES, unpacked
from onlooker import HeatKernel
from onlooker.cluster.enrolment import taught_faces
from onlooker.cluster.messages import Label, LearnerConfig, NumberedExample
from onlooker.cluster.site import Site
from onlooker.home.database import VERSION
from onlooker.home.events import digest
from onlooker.home.retention import RetentionPolicy


def opened(folder, old):
    settings = old.settings
    config = LearnerConfig(
        HeatKernel(settings["bandwidth"], settings["cutoff"]),
        settings["features"],
        settings["max_vertices"],
        settings["sink"],
    )
    retention = RetentionPolicy(**old.keeping)
    return Site(old.site, folder, config, retention=retention, clock=lambda: old.clock)


def sites():
    for name in ("site", "site_pending"):
        yield pytest.param(name, "", json.loads((OLD_HOMES / f"{name}.json").read_text()), id=name)
    cluster = json.loads((OLD_HOMES / "cluster.json").read_text())
    for site, old in cluster["sites"].items():
        yield pytest.param("cluster", site, old, id=f"cluster {site}")


@pytest.mark.parametrize(("name", "within", "old"), list(sites()))
def test_an_old_site_serves_as_before(tmp_path, name, within, old):
    old = SimpleNamespace(**old)
    found = unpacked(name, tmp_path)
    folder = next(path.parent for path in found.rglob("onlooker.db") if within in str(path))
    site = opened(folder, old)
    try:
        report = site.report()
        assert digest(site.home.learner) == old.digest
        assert list(report.names) == old.names
        assert report.last_numbers == old.report["last"]
        assert report.downtime == old.report["gap"]
        assert site.home.database.version == VERSION
        assert site.home.numbers("session") == old.sessions
        assert {key.hex() for key in site.label_keys()} == set(old.label_keys)
        if "next" not in vars(old):
            return
        session = site.open_session("door")
        assert (session.session, session.last) == (old.hello["session"], old.hello["last"])
        batch = old.next
        examples = [
            NumberedExample(number, np.array(vector, old.type), label, frame=0)
            for number, vector, label in zip(
                batch["numbers"], batch["vectors"], batch["names"], strict=True
            )
        ]
        answer = site.receive("door", session.session, examples, 0)
        expected = batch["delivery"]
        assert answer.event == expected["event"]
        assert [
            (one.number, one.prediction and one.prediction.label) for one in answer.answers
        ] == [
            (number, prediction and prediction["label"])
            for number, prediction, *_ in expected["answers"]
        ]
        assert digest(site.home.learner) == batch["digest"]
    finally:
        site.close()


def test_who_was_taught_to_an_old_cluster_is_not_taught_again(tmp_path):
    register = json.loads((OLD_HOMES / "cluster.json").read_text())["register"]
    folder = next(path.parent for path in unpacked("cluster", tmp_path).rglob("register.json"))
    labels = [Label(name, np.array(vector, np.float32)) for name, vector, _ in register["labels"]]
    known = set(register["knows"]) - set(register["left_out"])
    for _ in range(2):
        with taught_faces(folder) as taught:
            new, forgotten = taught.untaught(labels, known)
            assert [label.name for label in new] == register["new"]
            assert forgotten == register["left_out"]
            assert taught.identity == register["identity"]
        assert not (folder / "register.json").exists()
