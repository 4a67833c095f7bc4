"""Photos on the page: faces are shown before they are taught, bad photos told one by one."""

import time

import pytest
from playwright.sync_api import expect

from helpers.browsing import checked, running
from helpers.photos import LARGE, SMALL, photo_file, photograph
from helpers.waiting import eventually
from onlooker import HeatKernel, OnlineHarmonicLearner
from onlooker.home.home import Home
from onlooker.strangers.book import StrangerBook
from onlooker.vision.finder import FaceFinder
from onlooker.vision.scales import DEFAULT_SCALES
from onlooker.web.frames import LiveRecognizer
from onlooker.web.service import Service

PEOPLE = {"Ana": 1, "Ben": 3, "Cleo": 11}


def service_with_sface(folder):
    """A service with the default features."""
    finder, scale = FaceFinder(), DEFAULT_SCALES["sface"]

    def new_learner():
        kernel = HeatKernel(scale.bandwidth, scale.cutoff, finder.features.distance)
        return OnlineHarmonicLearner(kernel, features=finder.features.tag)

    return Service(
        lambda: Home(folder, new_learner=new_learner),
        lambda home: StrangerBook(home),
        LiveRecognizer(finder),
    )


@pytest.fixture
def photo_service(tmp_path):
    with running(tmp_path / "home", service_with_sface) as service:
        yield service


def written(folder, size):
    """Ten photos of three people, two of them of groups, most of them rotated; and two bad ones."""
    folder.mkdir()
    ana, ben, cleo = PEOPLE.values()
    shown = [(ana,), (ana,), (ana,), (ben,), (ben,), (ben,), (cleo,), (cleo,), (ana, ben)]
    shown.append((ana, ben, cleo))
    for at, people in enumerate(shown):
        pixels = photograph(*people, size=size, number=at % 3)
        (folder / f"IMG_{at}.jpg").write_bytes(photo_file(pixels, turned=(1, 6, 3)[at % 3]))
    (folder / "beach.jpg").write_bytes(photo_file(photograph(size=SMALL)))
    (folder / "notes.jpg").write_text("not a photo")
    return sorted(folder.iterdir())


def chosen(page, files):
    page.set_input_files("#photo-files", [str(file) for file in files])


def everybody_taught(tab, files):
    """Choose photos of several people, name each person once, teach them."""
    page = tab.open("photos")
    page.locator("#whose-several").check()
    chosen(page, files)
    expect(page.locator("[data-person]")).to_have_count(len(PEOPLE))
    expect(page.locator(".photo-problems li")).to_have_count(2)
    problems = page.locator(".photo-problems").inner_text()
    assert "beach.jpg: no face was found" in problems
    assert "notes.jpg: cannot read the picture: not a JPEG" in problems
    assert tab.fetched("/people") == []
    for card, name in zip(page.locator("[data-person]").all(), PEOPLE, strict=True):
        card.locator("input").fill(name)
    return page


def test_photos_of_three_people_at_once_are_named_by_person(photo_service, visit, tmp_path):
    tab = visit(photo_service, reduced_motion="reduce")
    tab.forgiven = ("422",)
    page = everybody_taught(tab, written(tmp_path / "photos", SMALL))
    expect(page.locator(".photo-foot")).to_contain_text("13 faces of 3 people chosen.")
    page.get_by_role("button", name="Teach these faces").click()
    expect(page.locator(".person")).to_have_count(3)
    expect(page.get_by_text("Taught 13 faces")).to_be_visible()
    counts = {person["name"]: person["labeled"] for person in tab.fetched("/people")}
    assert sorted(counts.values()) == [3, 5, 5]
    page.get_by_role("button", name="Undo").click()
    eventually(lambda: tab.fetched("/people") == [])
    tab.check()


def test_which_of_these_is_ana_by_keyboard_alone_on_a_dark_phone(photo_service, visit, tmp_path):
    group = tmp_path / "IMG_9.jpg"
    group.write_bytes(photo_file(photograph(*PEOPLE.values()), turned=6))
    tab = visit(
        photo_service,
        color_scheme="dark",
        reduced_motion="reduce",
        viewport={"width": 390, "height": 844},
    )
    page = tab.open("photos")
    page.on("filechooser", lambda _: None)  # caught from now on, not only from when it is opened
    checked(page, "photos, empty")
    page.locator("#photo-name").focus()
    page.keyboard.type("Ana")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Choose photos")).to_be_focused()
    with page.expect_file_chooser() as opened:
        page.keyboard.press("Enter")
    opened.value.set_files(str(group))
    question = page.get_by_role("group", name="Which of these is Ana? IMG_9.jpg")
    expect(question.locator("[data-face]")).to_have_count(3)
    expect(page.locator(".photo-foot")).to_contain_text("1 photo is left out")
    checked(page, "photos, a group")
    page.keyboard.press("Tab")
    expect(question.locator("[data-face]").first).to_be_focused()
    page.keyboard.press("Enter")
    expect(question.locator("[aria-pressed=true]")).to_have_count(1)
    width = "document.documentElement.scrollWidth"
    assert page.evaluate(width) <= 390
    page.get_by_role("button", name="Teach these faces").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Ana", level=1)).to_be_visible()
    assert [(each["name"], each["labeled"]) for each in tab.fetched("/people")] == [("Ana", 1)]
    tab.check()


@pytest.mark.slow
def test_ten_photos_of_twelve_megapixels_are_taught_in_ten_seconds(photo_service, visit, tmp_path):
    files = written(tmp_path / "photos", LARGE)
    tab = visit(photo_service, reduced_motion="reduce")
    tab.forgiven = ("422",)
    begun, worked = time.perf_counter(), time.process_time()
    page = everybody_taught(tab, files)
    page.get_by_role("button", name="Teach these faces").click()
    expect(page.locator(".person")).to_have_count(3)
    took, worked = time.perf_counter() - begun, time.process_time() - worked
    print(f"ten photos of 12 megapixels: {took:.1f} s, {worked:.1f} s of one core")
    assert worked < 10  # however busy the machine is
