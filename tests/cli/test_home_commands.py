"""The commands on a home: what they print, what they change, and what they refuse."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from helpers.commands import error_of
from helpers.homes import LENGTH, change_database, files_with, png, small_learner, stream
from onlooker.cli.app import app
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.similarity import HeatKernel
from onlooker.home.backup import BackupFailed, back_up
from onlooker.home.database import Database
from onlooker.home.events import digest
from onlooker.home.home import Home
from onlooker.home.people import count_people, merge, rename
from onlooker.home.reopen import reopen
from onlooker.strangers.book import StrangerBook
from onlooker.vision.finder import face_distances
from onlooker.vision.pixels import PixelFeatures

COMMANDS = (
    "people", "people list", "people rename", "people merge", "people forget", "strangers",
    "strangers list", "strangers ask", "strangers name", "strangers not", "strangers skip",
    "strangers ignore", "strangers show", "audit", "events", "undo", "export", "import", "backup",
    "restore", "explain", "history", "history find", "history sightings",
)  # fmt: skip
STRANGER = np.full(LENGTH, 40.0, np.float32)


@pytest.fixture
def home(tmp_path):
    """A home that knows two people, has seen them, and one stranger often."""
    folder = tmp_path / "home"
    with Home(folder, new_learner=small_learner) as made, StrangerBook(made) as visitors:
        for number, (x, name) in enumerate(stream(3, 60)):
            if number < 6:
                made.teach(x, name, picture=png(number))
                continue
            picture = png(number)
            seen = made.observe(x, camera="door", frame=number, picture=picture)
            made.record_sighting(camera="door", frame=number, name=seen.label, vertex=seen.vertex)
        for frame in range(5):
            visitors.observe(STRANGER + frame / 100, camera="door", frame=frame, picture=png(99))
    return folder


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def rows(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return [json.loads(row) for row in result.stdout.splitlines()]


def word(folder):
    with reopen(folder, face_distances()) as home:
        return digest(home.learner)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command):
    result = run(*command.split(), "--help")
    assert result.exit_code == 0
    assert f"Example: onlooker {command}" in " ".join(result.stdout.split())


# ---- people


def test_people_list(home):
    found = rows("people", "list", "--home", home)
    assert {row["name"] for row in found} == {"person0", "person1"}
    with reopen(home, face_distances()) as opened:
        known = opened.vertices()
        assert sum(row["labeled"] for row in found) == 6
        assert sum(row["learned"] for row in found) == known.names.count(None)
        assert sum(row["examples"] for row in found) == known.multiplicities.sum()


def test_rename_changes_the_name_and_nothing_else(home):
    with reopen(home, face_distances()) as opened:
        before = opened.learner.state()
        answers = [opened.predict(x).scores for x, _ in stream(3, 12)]
        sightings = sum(seen.name == "person1" for seen in opened.album.sightings(limit=999))
    (row,) = rows("people", "rename", "person1", "ana", "--home", home)
    assert row["labeled"] >= 1
    with reopen(home, face_distances()) as opened:
        after = opened.learner.state()
        assert after.names == ["ana" if name == "person1" else name for name in before.names]
        for column in ("ids", "vectors", "multiplicities", "labels"):
            np.testing.assert_array_equal(getattr(after, column), getattr(before, column))
        for (x, _), scores in zip(stream(3, 12), answers, strict=True):
            expected = [scores[name] for name in before.names]
            assert list(opened.predict(x).scores.values()) == pytest.approx(expected, abs=1e-8)
        names = [seen.name for seen in opened.album.sightings(limit=999)]
        assert names.count("ana") == sightings > 0
        assert "person1" not in names
        opened.undo(to=opened.sequence - 1)
        assert opened.learner.state().names == before.names


@pytest.mark.parametrize("how", ["close", "crash"])
@pytest.mark.parametrize("act", [rename, merge])
def test_another_name_survives(tmp_path, act, how):
    home = Home(tmp_path, new_learner=small_learner)
    for number, name in enumerate(("ana", "ben", "cleo", "ana")):
        home.teach(np.full(LENGTH, float(number)), name)
    act(home, "ana", "dora" if act is rename else "cleo")
    home.observe(np.full(LENGTH, 0.1), camera="door", frame=1)
    expected, names = digest(home.learner), home.learner.names
    assert names == (("dora", "ben", "cleo") if act is rename else ("ben", "cleo"))
    if how == "close":
        home.close()
    else:
        home._files.database.close_as_it_is()
        home._files._lock.release()
    with reopen(tmp_path, face_distances()) as again:
        assert digest(again.learner) == expected
        assert again.problems == ()


def test_merge_makes_two_names_one(home):
    with reopen(home, face_distances()) as opened:
        before = {known.name: known for known in count_people(opened.learner)}
    first, second = before
    (row,) = rows("people", "merge", first, second, "--home", home)
    assert row == {"name": second, "was": first, "labeled": before[first].labeled}
    (known,) = rows("people", "list", "--home", home)
    assert known["name"] == second
    for column in ("labeled", "learned", "examples"):
        assert known[column] == sum(getattr(each, column) for each in before.values())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["rename", "zoe", "ana"], "nobody is called 'zoe'"),
        (["rename", "person0", "person1"], "somebody is called 'person1' already"),
        (["rename", "person0", " "], "a name must not be empty"),
        (["merge", "person0", "zoe"], "nobody is called 'zoe'"),
        (["merge", "zoe", "person0"], "nobody is called 'zoe'"),
        (["forget", "zoe"], "nobody is called 'zoe'"),
    ],
)
def test_people_refused(home, arguments, words):
    before = word(home)
    assert words in error_of(run("people", *arguments, "--home", home))
    assert word(home) == before


def test_forget_prints_a_receipt_and_leaves_no_byte(home):
    with reopen(home, face_distances()) as opened:
        known = opened.vertices()
        mine = [
            row for row, name in zip(known.vectors, known.names, strict=True) if name == "person0"
        ]
        needles = [row.tobytes() for row in mine]
        assert files_with(home, *needles)
    (home / ".onlooker-killed.tmp").write_bytes(needles[0])  # by a process that is no more
    (receipt,) = rows("people", "forget", "person0", "--home", home)
    assert receipt["labeled"] == len(mine)
    assert files_with(home, *needles) == []
    assert [row["name"] for row in rows("people", "list", "--home", home)] == ["person1"]


@pytest.mark.parametrize("hidden", [False, True])
def test_who_is_forgotten_leaves_no_card_from_the_time_before_they_had_a_name(home, hidden):
    """A card is made of a face that nobody knows, and stays when somebody is taught elsewhere."""
    known = STRANGER * 2
    needles = [(known + frame / 200).tobytes() for frame in range(10)] + [png(55)[-60:]]
    with reopen(home, face_distances()) as opened, StrangerBook(opened) as visitors:
        for frame in range(5):
            seen = known + frame / 100
            card = visitors.observe(seen, camera="door", frame=frame, picture=png(55))
        if hidden:
            visitors.ignore(card)
        opened.teach(known + 1 / 200, "Zebedee")
    assert "onlooker.db" in files_with(home, *needles)
    (receipt,) = rows("people", "forget", "Zebedee", "--home", home)
    assert (receipt["labeled"], receipt["strangers"]) == (1, 1)
    assert files_with(home, *needles, b"Zebedee") == []
    (other,) = rows("strangers", "list", "--hidden", "--home", home)
    assert other["count"] == 5


# ---- strangers


def test_a_stranger_is_listed_named_and_then_known(home, tmp_path):
    (card, *_) = rows("strangers", "list", "--home", home, "--pictures", tmp_path / "faces")
    assert (card["count"], card["first"]["camera"], card["hidden"]) == (5, "door", False)
    assert [Path(file).read_bytes() for file in card["files"]] == [png(99)]
    (row,) = rows("strangers", "name", card["card"], "postman", "--home", home)
    assert row == {"card": card["card"], "name": "postman", "taught": card["faces"]}
    assert card["card"] not in [row["card"] for row in rows("strangers", "list", "--home", home)]
    with reopen(home, face_distances()) as opened:
        assert opened.predict(STRANGER).label == "postman"
    assert "no stranger" in error_of(run("strangers", "name", card["card"], "ana", "--home", home))


def test_an_ignored_stranger_is_only_shown_on_demand(home):
    (card, *_) = rows("strangers", "list", "--home", home)
    rows("strangers", "ignore", card["card"], "--home", home)
    assert rows("strangers", "list", "--home", home) == []
    assert rows("strangers", "list", "--hidden", "--home", home)[0]["hidden"]
    with reopen(home, face_distances()) as opened:
        assert list(opened.vertices().negatives.values()) == [{None}] * card["faces"]
    rows("strangers", "show", card["card"], "--home", home)
    assert rows("strangers", "list", "--home", home)[0]["card"] == card["card"]
    with reopen(home, face_distances()) as opened:
        assert opened.vertices().negatives == {}


def test_a_stranger_is_asked_about_and_is_not_who_it_may_be(home, tmp_path):
    with reopen(home, face_distances()) as opened, StrangerBook(opened) as visitors:
        seen = STRANGER * 2
        other = visitors.observe(seen, camera="yard", frame=0, candidate="person0", picture=png(7))
    first, second = rows("strangers", "ask", "--limit", 5, "--home", home)
    assert (first["card"], first["question"]) == (other, "is this person0?")
    assert (first["candidate"], first["candidates"]) == ("person0", {"person0": 1})
    assert (second["question"], second["candidate"], second["count"]) == ("who is this?", None, 5)
    (row,) = rows("strangers", "not", other, "person0", "--home", home)
    assert row == {"card": other, "not_name": "person0", "taught": 1}
    (asked_now,) = rows("strangers", "ask", "--home", home, "--pictures", tmp_path / "faces")
    assert (asked_now["card"], len(asked_now["files"])) == (second["card"], 1)
    for card in (other, second["card"]):
        assert rows("strangers", "skip", card, "--home", home) == [{"card": card, "ask": False}]
    assert rows("strangers", "ask", "--home", home) == []
    assert rows("strangers", "show", other, "--home", home)[0]["ask"]
    (again,) = rows("strangers", "ask", "--home", home)
    assert (again["card"], again["not_names"]) == (other, ["person0"])


def test_learned_faces_are_listed_with_the_question_and_confirmed_with_the_name(tmp_path):
    folder = tmp_path / "home"

    def new_learner():
        return OnlineHarmonicLearner(HeatKernel(0.4, 1e-4), features="test/8", trust_radius=1.0)

    with Home(folder, new_learner=new_learner) as made:
        made.teach(np.zeros(LENGTH, np.float32), "ana", picture=png(1))
        with StrangerBook(made) as visitors:
            for number, x in enumerate((0.4, 0.8, -0.8, 1.2)):
                place = np.full(LENGTH, x / LENGTH**0.5, np.float32)
                face = {"camera": "door", "frame": number, "picture": png(2 + number)}
                answer = made.observe(place, **face)
                if answer.label is None:
                    visitors.observe(place, candidate=answer.candidate, **face)
    (row,) = rows("strangers", "ask", "--home", folder, "--pictures", tmp_path / "faces")
    assert row["question"] == "is this ana?"
    (learned,) = row["learned"]  # the other one is near to the face that is asked about
    assert [Path(file).name for file in row["files"]] == [
        f"stranger-{row['card']}-1.png",
        f"learned-{learned}.png",
    ]
    (named,) = rows("strangers", "name", row["card"], "ana", "--learned", learned, "--home", folder)
    assert named == {"card": row["card"], "name": "ana", "taught": 2}
    assert rows("people", "list", "--home", folder)[0]["labeled"] == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["not", "1", "zoe"], "nobody is called 'zoe'"),
        (["not", "99", "person0"], "no stranger 99"),
        (["skip", "99"], "no stranger 99"),
        (["ignore", "99"], "no stranger 99"),
        (["show", "99"], "no stranger 99"),
    ],
)
def test_answers_about_strangers_who_are_gone_are_refused(home, arguments, words):
    before = word(home)
    assert words in error_of(run("strangers", *arguments, "--home", home))
    assert word(home) == before


def test_a_candidate_follows_a_name_that_changes(home):
    with reopen(home, face_distances()) as opened, StrangerBook(opened) as visitors:
        visitors.observe(STRANGER * 2, camera="yard", frame=0, candidate="person0")
    rows("people", "rename", "person0", "Zoe", "--home", home)
    assert rows("strangers", "ask", "--home", home)[0]["candidate"] == "Zoe"
    rows("people", "merge", "Zoe", "person1", "--home", home)
    assert rows("strangers", "ask", "--home", home)[0]["candidate"] == "person1"


def test_damaged_strangers_are_reported(home):
    with reopen(home, face_distances()) as opened:
        with StrangerBook(opened) as book:
            book.observe(np.full(LENGTH, 80.0), camera="door", frame=0)
        opened.database.execute("UPDATE cards SET count = 7")
    result = run("strangers", "list", "--home", home)
    assert result.exit_code == 0
    assert "damaged rows of strangers are skipped" in result.stderr


# ---- events and undo


def test_events_and_undo(home):
    every = rows("events", "--after", 0, "--limit", 999, "--home", home)
    assert [row["event"] for row in every] == list(range(1, len(every) + 1))
    assert rows("events", "--limit", 3, "--home", home) == every[-3:]
    assert (every[0]["kind"], every[-1]["camera"]) == ("teach", "door")
    (row,) = rows("undo", "--to", 3, "--home", home)
    assert (row["undone_to"], row["was"], row["event"]) == (3, len(every), len(every) + 1)
    assert sum(row["labeled"] for row in rows("people", "list", "--home", home)) == 3
    rows("undo", "--to", len(every), "--home", home)
    assert sum(row["labeled"] for row in rows("people", "list", "--home", home)) == 6
    assert "cannot be undone to" in error_of(run("undo", "--to", 9999, "--home", home))


def test_undo_brings_a_named_stranger_back(home):
    (before,) = rows("strangers", "list", "--home", home)
    last = rows("events", "--home", home)[-1]["event"]
    rows("strangers", "name", before["card"], "zoe", "--home", home)
    assert rows("strangers", "list", "--home", home) == []
    rows("undo", "--to", last, "--home", home)
    assert rows("strangers", "list", "--home", home) == [before]
    assert "zoe" not in {row["name"] for row in rows("people", "list", "--home", home)}


# ---- which home


@pytest.mark.parametrize("command", [["people", "list"], ["strangers", "list"], ["events"]])
def test_a_home_in_use_is_told_in_one_line(home, command):
    with reopen(home, face_distances()):
        assert "is in use by process" in error_of(run(*command, "--home", home))


def test_a_home_in_use_can_be_backed_up_but_not_restored_over(home, tmp_path):
    with reopen(home, face_distances()) as used:
        (row,) = rows("backup", tmp_path / "copy", "--home", home)
        assert row["event"] == used.sequence
        restoring = ("restore", tmp_path / "copy", "--home", home, "--replace")
        assert "is in use by process" in error_of(run(*restoring))
    (row,) = rows(*restoring)
    assert row["replaced"] == f"{home}.replaced-1"
    assert word(home) == word(home.with_name("home.replaced-1"))
    assert "is a home already; --replace" in error_of(run(*restoring[:-1]))


def test_a_folder_that_is_no_home_is_left_alone(tmp_path):
    assert "nothing is not a home" in error_of(run("people", "list", "--home", "nothing"))
    assert not (tmp_path / "nothing").exists()
    (tmp_path / "some").mkdir()
    assert "some is not a home" in error_of(run("people", "list", "--home", "some"))
    assert list((tmp_path / "some").iterdir()) == []


def test_the_home_comes_from_the_settings(home, monkeypatch):
    assert run("people", "list").exit_code == 2
    monkeypatch.setenv("ONLOOKER_HOME", str(home))
    assert len(rows("people", "list")) == 2


def test_a_home_of_pixels_needs_no_options(tmp_path):
    features = PixelFeatures()
    kernel = HeatKernel(0.025, 1e-8, features.distance)
    with Home(
        tmp_path / "pixels",
        new_learner=lambda: OnlineHarmonicLearner(kernel, features=features.tag),
    ) as home:
        home.teach(np.full(96 * 96, 0.5, np.float32), "ana")
    (row,) = rows("people", "list", "--home", tmp_path / "pixels")
    assert row == {"name": "ana", "labeled": 1, "learned": 0, "examples": 1}


# ---- export, import, backup


def test_an_export_becomes_the_same_home(home, tmp_path):
    (row,) = rows("export", "people.onlooker", "--home", home)
    assert row["pictures"] > 0
    assert (tmp_path / "people.onlooker").stat().st_mode & 0o077 == 0
    rows("import", "people.onlooker", "--home", tmp_path / "new")
    assert word(tmp_path / "new") == word(home)
    with reopen(home, face_distances()) as old, reopen(tmp_path / "new", face_distances()) as new:
        assert new.album.vertices() == old.album.vertices()
        for vertex in old.album.vertices():
            assert new.album.picture(vertex) == old.album.picture(vertex)
    assert "exists already" in error_of(run("export", "people.onlooker", "--home", home))


def test_a_new_home_of_an_export_may_have_another_trust_radius(home, tmp_path):
    rows("export", "people.onlooker", "--home", home)
    rows("import", "people.onlooker", "--home", tmp_path / "new", "--trust-radius", "0.7")
    with reopen(tmp_path / "new", face_distances()) as new:
        assert new.learner.trust_radius == 0.7
        assert len(new.learner) > 0
    assert word(tmp_path / "new") == word(home)
    rows("import", "people.onlooker", "--home", tmp_path / "new", "--trust-radius", "0.7")
    again = "import", "people.onlooker", "--home", tmp_path / "new", "--trust-radius", "off"
    assert "built with trust radius 0.7 and keeps it" in error_of(run(*again))


def test_an_export_joins_what_is_known_already(home, tmp_path):
    other = tmp_path / "other"
    with Home(other, new_learner=lambda: small_learner(max_vertices=50)) as made:
        made.teach(STRANGER, "cleo")
    rows("export", "people.onlooker", "--home", home)
    rows("import", "people.onlooker", "--home", other)
    assert {row["name"] for row in rows("people", "list", "--home", other)} == {
        "cleo", "person0", "person1",
    }  # fmt: skip
    with reopen(home, face_distances()) as old, reopen(other, face_distances()) as new:
        assert len(new.album.vertices()) == len(old.album.vertices())


def test_other_features_are_refused(home, tmp_path):
    other = tmp_path / "other"
    kernel = HeatKernel(0.4, 1e-4)
    with Home(other, new_learner=lambda: OnlineHarmonicLearner(kernel, features="other/8")) as made:
        made.teach(STRANGER, "cleo")
    rows("export", "people.onlooker", "--home", home)
    before = word(other)
    text = error_of(run("import", "people.onlooker", "--home", other))
    assert "features 'test/8'" in text
    assert "'other/8'" in text
    assert word(other) == before


def repacked(path, change, **options):
    """An archive with other contents."""
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    change(contents)
    with zipfile.ZipFile(path, "w", **options) as archive:
        for name, data in contents.items():
            archive.writestr(name, data)


def damage(path, how):
    raw = path.read_bytes()
    if how == "cut":
        path.write_bytes(raw[: len(raw) // 2])
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "flipped":
        at = raw.index(b"IDAT")
        path.write_bytes(raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :])
    elif how == "compressed":
        repacked(path, lambda contents: None, compression=zipfile.ZIP_DEFLATED)
    elif how == "more":
        repacked(path, lambda contents: contents.update({"../../evil": b"x"}))
    elif how == "listed evil":

        def add(contents):
            manifest = json.loads(contents["manifest.json"])
            empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
            manifest["files"]["../../evil"] = empty
            contents["manifest.json"] = json.dumps(manifest).encode()
            contents["../../evil"] = b""

        repacked(path, add)
    elif how == "replaced":
        repacked(path, lambda contents: contents.update({max(contents): png(77)}))
    elif how == "no manifest":
        repacked(path, lambda contents: contents.pop("manifest.json"))
    elif how == "odd manifest":
        repacked(path, lambda contents: contents.update({"manifest.json": b"[1]"}))


@pytest.mark.parametrize(
    "how",
    [
        "cut",
        "empty",
        "flipped",
        "replaced",
        "compressed",
        "more",
        "listed evil",
        "no manifest",
        "odd manifest",
    ],
)
def test_a_damaged_export_is_refused_and_nothing_is_made(home, tmp_path, how):
    path = tmp_path / "people.onlooker"
    rows("export", path, "--home", home)
    damage(path, how)
    assert "people.onlooker" in error_of(run("import", path, "--home", tmp_path / "new"))
    assert not (tmp_path / "new").exists()


def test_an_import_does_not_move_into_a_folder_of_something_else(home, tmp_path):
    rows("export", "people.onlooker", "--home", home)
    assert "neither a home nor an empty folder" in error_of(
        run("import", "people.onlooker", "--home", tmp_path)
    )
    assert "No such file" in error_of(run("import", "nothing.onlooker", "--home", home))


def test_a_backup_is_the_same_home(home, tmp_path):
    with reopen(home, face_distances()) as opened:
        opened.expire()
    assert (home / "ballast").exists()
    (row,) = rows("backup", tmp_path / "copy", "--home", home)
    assert not (tmp_path / "copy" / "ballast").exists()
    assert sorted(row["people"]) == ["person0", "person1"]
    assert word(tmp_path / "copy") == word(home)
    for command in (["events", "--limit", 999], ["strangers", "list"], ["people", "list"]):
        assert rows(*command, "--home", tmp_path / "copy") == rows(*command, "--home", home)
    with reopen(home, face_distances()) as old, reopen(tmp_path / "copy", face_distances()) as new:
        assert new.album.sightings(limit=999) == old.album.sightings(limit=999)
        assert new.album.vertices() == old.album.vertices()
    assert "exists already" in error_of(run("backup", tmp_path / "copy", "--home", home))
    assert "lies in the home itself" in error_of(run("backup", home / "copy", "--home", home))


@pytest.mark.parametrize("part", ["database", "snapshot"])
def test_a_copy_that_is_not_the_same_is_no_backup(home, tmp_path, monkeypatch, part):
    copy_to = Database.copy_to

    def careless(self, path, between):
        copy_to(self, path, between)
        change_database(path.parent, "DELETE FROM events WHERE sequence > 50")

    if part == "database":
        monkeypatch.setattr(Database, "copy_to", careless)
    else:
        monkeypatch.setattr("shutil.copyfileobj", lambda source, copy: copy.write(b"something"))
    with pytest.raises(BackupFailed, match=r"differs|not sound|not copied as it is"):
        back_up(home, tmp_path / "copy", face_distances())
    assert not list(tmp_path.glob("*copy*"))
    assert not list(tmp_path.glob(".copy*"))


def test_an_audit_says_what_was_learned_of_whom_and_changes_nothing(home):
    with reopen(home, face_distances()) as opened:
        before = digest(opened.learner)
        names = set(opened.learner.names)
    *people, total = rows("audit", "--home", home)
    assert {person["name"] for person in people} == names
    for person in people:
        assert sum(person["hidden_labels"].values()) == person["labeled"]
        assert sum(person["hidden_person"].values()) == person["examples"]
        assert len(person["farthest"]) == min(4, person["learned"])
        gaps = [face["distance"] for face in person["farthest"]]
        assert gaps == sorted(gaps, reverse=True)
    assert total["refused"] == 5
    assert 0 <= total["contamination"] <= 1
    with reopen(home, face_distances()) as opened:
        assert digest(opened.learner) == before
