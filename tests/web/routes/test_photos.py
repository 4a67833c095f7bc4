"""Photos: faces are found before anything is taught; what is taught at once is undone at once."""

import sys

import pytest
from PIL import Image

from helpers.photos import heic_file, photo_file, photograph
from helpers.services import API, client_of, service_in
from onlooker.web.photos import MOST_FACES, PhotoFaces


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("photos") / "home"


@pytest.fixture(scope="module")
def service(home):
    with service_in(home) as running:
        yield running


@pytest.fixture
def client(service, home):
    client = client_of(service, home)
    yield client
    for person in client.get(f"{API}/people").json():
        client.delete(f"{API}/people/{person['id']}")


def found(client, data):
    answer = client.post(f"{API}/photos", content=data)
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(client, data, status=422):
    answer = client.post(f"{API}/photos", content=data)
    assert answer.status_code == status, answer.text
    assert "\n" not in answer.json()["detail"]
    return answer.json()["detail"]


def taught(client, *named):
    faces = [{"face": face, "name": name} for face, name in named]
    return client.post(f"{API}/photos/teach", json={"faces": faces})


def newest(client):
    return client.get(f"{API}/events", params={"newest": True, "limit": 1}).json()


def names(client):
    return [person["name"] for person in client.get(f"{API}/people").json()]


@pytest.mark.parametrize(
    ("kind", "turned"), [("JPEG", 1), ("JPEG", 3), ("JPEG", 6), ("PNG", 1), ("WEBP", 6)]
)
def test_faces_are_found_in_any_kind_of_photo_however_the_phone_was_held(client, kind, turned):
    photo = found(client, photo_file(photograph(1), kind, turned))
    assert (photo["width"], photo["height"]) == (1000, 750)
    (face,) = photo["faces"]
    box = face["box"]
    assert box["left"] < 500 < box["left"] + box["width"]
    assert box["top"] < 375 < box["top"] + box["height"]
    picture = client.get(f"{API}/photos/faces/{face['face']}/picture")
    assert picture.headers["content-type"] == "image/png"


def test_a_heic_photo_is_read(client):
    (face,) = found(client, heic_file(photograph(1)))["faces"]
    assert face["refusal"] is None


def test_heic_without_its_extra_names_the_extra(client, monkeypatch):
    data = heic_file(photograph(1))
    monkeypatch.setitem(sys.modules, "pi_heif", None)
    assert "[heic]" in refused(client, data)


def test_one_wrong_bit_in_a_heic_photo_does_not_end_the_service(client):
    """The decoder reads the kind of a note as text, and crashes if it is none."""
    notes = Image.Exif()
    notes[0x0112] = 1
    data = heic_file(photograph(1), exif=notes.tobytes())
    assert found(client, data)["faces"]
    assert "damaged" in refused(client, data.replace(b"Exif", b"\xc5xif", 1))
    assert found(client, data)["faces"]


def test_finding_teaches_nothing_and_teaching_is_one_change_that_one_undo_takes_back(client):
    before = newest(client)
    group = found(client, photo_file(photograph(1, 2, 3)))
    alone = found(client, photo_file(photograph(1, number=3)))
    assert len(group["faces"]) == 3
    assert newest(client) == before
    assert names(client) == []
    by_place = sorted(group["faces"], key=lambda face: face["box"]["left"])
    said = zip([*by_place, *alone["faces"]], ["ana", "ben", "cid", "ana"], strict=True)
    answer = taught(client, *((face["face"], name) for face, name in said))
    assert answer.status_code == 201, answer.text
    assert answer.json()["taught"] == 4
    assert {row["name"]: row["labeled"] for row in answer.json()["people"]} == {
        "ana": 2,
        "ben": 1,
        "cid": 1,
    }
    again = found(client, photo_file(photograph(2)))
    assert [face["name"] for face in again["faces"]] == ["ben"]
    assert client.post(f"{API}/undo", json={"to": answer.json()["undo"]}).status_code == 200
    assert names(client) == []


def test_the_same_photo_again_teaches_nothing_twice(client):
    for expected in (1, 0):
        (face,) = found(client, photo_file(photograph(1)))["faces"]
        answer = taught(client, (face["face"], "ana"), (face["face"], "ana")).json()
        assert answer["taught"] == expected
        assert answer["people"][0]["labeled"] == 1
    assert answer["undo"] is None


def test_one_face_with_two_names_is_refused_and_nothing_is_half_done(client):
    before = newest(client)
    one, two = found(client, photo_file(photograph(1, 2)))["faces"]
    answer = taught(client, (two["face"], "ben"), (one["face"], "ana"), (one["face"], "eve"))
    assert answer.status_code == 409
    assert newest(client) == before
    assert names(client) == []


def test_the_faces_of_several_photos_are_grouped_by_person(client):
    keys = {}
    for person in (1, 2, 3):
        for number in (0, 0, 0):
            data = photo_file(photograph(person, number=number), turned=6)
            (face,) = found(client, data)["faces"]
            keys.setdefault(person, []).append(face["face"])
    every = [key for some in zip(*keys.values(), strict=True) for key in some]
    groups = client.post(f"{API}/photos/groups", json={"faces": every}).json()
    assert sorted(map(sorted, groups)) == sorted(map(sorted, keys.values()))


def test_bad_photos_are_told_one_by_one_in_one_line_each(client):
    assert "no face was found" in refused(client, photo_file(photograph()))
    crowd = photograph(*range(1, MOST_FACES + 5), size=(3200, 400))
    assert f"{MOST_FACES + 4} faces are in this photo" in refused(client, photo_file(crowd))
    assert "not a JPEG" in refused(client, b"hello")
    assert "empty" in refused(client, b"")
    assert "cannot read" in refused(client, photo_file(photograph(1))[:5000])
    assert "at most 32 MB" in refused(client, bytes(100_000_000), 413)


def test_a_face_that_was_never_found_is_refused(client):
    answer = taught(client, ("0" * 16, "ana"))
    assert answer.status_code == 404
    assert "choose the photo again" in answer.json()["detail"]
    assert client.get(f"{API}/photos/faces/{'0' * 16}/picture").status_code == 404


def test_forgetting_anybody_drops_the_faces_of_photos_too(client):
    (face,) = found(client, photo_file(photograph(1)))["faces"]
    person = taught(client, (face["face"], "ana")).json()["people"][0]["id"]
    assert client.delete(f"{API}/people/{person}").status_code == 200
    assert client.get(f"{API}/photos/faces/{face['face']}/picture").status_code == 404


def test_faces_of_photos_are_dropped_after_a_while(service):
    now = [0.0]
    photos = PhotoFaces(service.finder.for_photos(), lambda: now[0])
    (face,) = photos.find(photo_file(photograph(1))).faces
    now[0] = 1e6
    photos.find(photo_file(photograph(2)))
    with pytest.raises(LookupError):
        photos.face(face.key)
