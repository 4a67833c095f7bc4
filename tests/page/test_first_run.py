"""The first run: choose a camera, name a stranger, be recognized."""

import pytest
from playwright.sync_api import expect

from helpers.browsing import MANY, name_a_stranger, use_camera
from helpers.services import encoded
from helpers.waiting import eventually
from onlooker.simulation.scenarios import write_video
from onlooker.vision.types import Frame

NAME = "Dorothea"


def test_somebody_new_comes_to_be_known(empty, visit):
    tab = visit(empty, signed_in=False, forgiven=["401"])
    page = tab.page
    page.goto(empty.address)

    # Nothing is shown before the token is right.
    page.locator("#token").fill("guess")
    page.get_by_role("button", name="Continue").click()
    expect(page.locator("dialog .error")).to_contain_text("neither the token")
    expect(page.locator("main h1")).to_have_count(0)
    page.locator("#token").fill(empty.token)
    page.get_by_role("button", name="Continue").click()
    tab.ready()
    expect(page.get_by_role("heading", level=1)).to_have_text("Choose a camera")
    assert page.url.endswith("#/add")
    use_camera(page)

    # The camera runs, and the page asks for the name of the unknown person.
    tile = page.locator(".tile[data-camera='this computer']")
    expect(tile).to_have_attribute("data-frames", MANY)
    expect(tile.locator(".box[data-state=nobody]")).to_be_visible()
    expect(page.get_by_role("heading", name="Who was that?")).to_be_visible()
    expect(page.locator(".learned")).to_contain_text("learns by itself once one person has a name")

    tab.go("strangers")
    expect(page.locator(".card").first).to_be_visible()
    name_a_stranger(page, NAME)
    expect(page.locator(".toast")).to_contain_text(f"as {NAME}")

    # From now on the box has the name, and the learner learns without further labels.
    tab.go("live")
    expect(page.locator(f".box[data-name={NAME}][data-state=known]")).to_be_visible()
    expect(page.locator(".here")).to_contain_text(f"This is {NAME}: of the walks from this face ")
    eventually(lambda: int(page.locator("html").get_attribute("data-learned")) > 3)
    expect(page.locator(".learned")).to_contain_text("1 person known from")


def test_from_photos_to_your_own_named_face_in_at_most_ten_clicks(empty, visit, reel, tmp_path):
    files = [tmp_path / f"{at}.jpg" for at in range(3)]
    for file, pixels in zip(files, reel[0][::7], strict=True):
        file.write_bytes(encoded(pixels, ".jpg"))
    tab = visit(empty)
    page = tab.open()
    clicks = 0

    def click(what):
        nonlocal clicks
        clicks += 1
        what.click()

    page.on("filechooser", lambda _: None)  # caught from now on, not only from when it is opened
    click(page.get_by_role("link", name="start with photos"))
    click(page.locator("#photo-name"))
    page.keyboard.type(NAME)
    with page.expect_file_chooser() as dialog:
        click(page.get_by_role("button", name="Choose photos"))
    dialog.value.set_files([str(file) for file in files])
    clicks += 2  # in the dialog of the system: mark them, open them
    expect(page.locator("[data-photo] [aria-pressed=true]")).to_have_count(3)
    click(page.get_by_role("button", name="Teach these faces"))
    expect(page.get_by_role("heading", level=1)).to_have_text(NAME)
    expect(page.locator(".toast")).to_contain_text("Taught 3 faces")
    click(page.locator("[data-to=add]"))
    click(page.locator("[data-choice=camera] button"))
    clicks += 1  # the browser asks for the permission
    expect(page.locator(f".box[data-name={NAME}]").first).to_be_visible()
    assert clicks <= 10


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("", "Enter the address"),
        ("/etc/passwd", "folder"),
        ("rtsp://", "rtsp"),
    ],
)
def test_an_address_that_cannot_be_watched_is_told(empty, visit, source, words):
    tab = visit(empty, forgiven=["status of 4"])
    page = tab.open("add")
    page.get_by_label("Address").fill(source)
    page.get_by_role("button", name="Add this camera").click()
    expect(page.locator("[data-choice=address] .error")).to_contain_text(words)
    assert page.url.endswith("#/add")


def test_the_simulated_camera_is_a_click_away(empty, visit):
    tab = visit(empty)
    page = tab.open()
    page.get_by_role("button", name="Start the demonstration").click()
    expect(page.locator(".tile[data-camera=simulated] .box").first).to_be_visible()
    page.get_by_role("button", name="Remove camera simulated").click()
    expect(page.locator(".tile")).to_have_count(0)
    expect(page.locator(".empty").first).to_be_visible()
    assert tab.fetched("/cameras") == []


def test_a_video_file_is_played_by_the_browser_and_not_uploaded(empty, visit, reel, tmp_path):
    film = tmp_path / "party & <b>friends.mp4"
    frames = [(Frame("door", at, at / 25, pixels), None) for at, pixels in enumerate(reel[0])]
    write_video(film, frames)
    tab = visit(empty)
    page = tab.open()
    page.locator("#file").set_input_files(film)
    ended = page.locator(".tile .tile-note", has_text="The video has ended.")

    def seen():  # a busy machine skips frames, and a card may need more of them
        expect(ended).to_be_visible()
        if tab.fetched("/strangers"):
            return True
        page.get_by_role("button", name="Play again").click()
        return False

    eventually(seen)
    assert int(page.locator(".tile").get_attribute("data-frames")) > 0
    page.get_by_role("button", name="Stop party").click()
    expect(page.locator(".tile")).to_have_count(0)


def test_what_is_not_known_yet_is_not_shown_as_zero(full, visit):
    """Live showed 0 learned faces for the first seconds."""
    page = visit(full).page
    page.route("**/api/v1/summary", lambda route: None)
    page.goto(full.address)
    expect(page.locator("[data-learned] .count")).to_have_text("–")
    page.unroute("**/api/v1/summary")  # which lets those that wait go on
    expect(page.locator("[data-learned] .count")).to_have_text(MANY)
