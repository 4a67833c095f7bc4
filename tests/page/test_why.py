"""Explanations: the chain of faces, where the random walks end, "wrong" and undo."""

import re

import pytest
from playwright.sync_api import expect

from helpers.browsing import ask_why, keep_message, loaded, open_person, use_camera
from helpers.waiting import eventually

WHY = re.compile(r"Why (Anastasia|Benedict)\?")


def shares(dialog):
    """For each name the share of walks that end there."""
    rows = dialog.locator(".bars li")
    return rows.evaluate_all(
        "all => all.map(one => [one.querySelector('.bar-name').textContent, +one.dataset.share])"
    )


def test_a_box_on_the_screen_explains_itself(own, visit):
    tab = visit(own)
    page = tab.open("add")
    use_camera(page)
    dialog = ask_why(page, ".box[data-state=known]")
    expect(dialog.get_by_role("heading", level=2)).to_have_text(WHY)
    name = WHY.fullmatch(dialog.get_by_role("heading", level=2).inner_text())[1]
    chain = dialog.locator(".chain").first
    expect(chain.locator("li").first).to_contain_text("this face")
    expect(chain.locator("li").last).to_contain_text(f"labeled {name}")
    eventually(lambda: loaded(dialog.locator("img")))
    found = shares(dialog)
    assert found[0][0] == name
    assert found[-1][0] == "walks that ended nowhere"
    assert sum(share for _, share in found) == pytest.approx(1, abs=0.05)
    expect(dialog.locator(".why-words")).to_contain_text(f"end at {name}")

    # The explained face can be named while the video goes on.
    dialog.get_by_role("combobox", name="This is").fill("Zacharias")
    dialog.get_by_role("button", name="Save name").click()
    expect(page.locator(".toast")).to_contain_text("Labeled as Zacharias.")
    assert "Zacharias" in [one["name"] for one in tab.fetched("/people")]


def known_faces(tab):
    """Every vertex with its name, its number of examples, and whether it has a picture."""
    fields = ("vertex", "name", "examples", "picture")
    return [tuple(one[field] for field in fields) for one in tab.fetched("/map")["vertices"]]


def test_wrong_takes_a_face_back_and_undo_gives_it_back(own, visit):
    tab = visit(own)
    page = tab.open()
    open_person(tab, "Anastasia")
    learned = page.locator("[data-faces=learned] .face-button")
    expect(learned.first).to_be_visible()
    before, count = known_faces(tab), learned.count()
    learned.first.click()
    page.get_by_role("button", name="Wrong, not Anastasia").click()
    expect(page.locator(".toast")).to_contain_text("removed")
    keep_message(page)
    expect(learned).not_to_have_count(count)
    assert len(known_faces(tab)) < len(before)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".toast")).to_contain_text("Undone")
    expect(learned).to_have_count(count)
    assert known_faces(tab) == before


def test_a_labeled_face_explains_itself_by_itself(full, visit):
    tab = visit(full)
    page = tab.open()
    open_person(tab, "Benedict")
    page.locator("[data-faces=labeled] .face-button").first.click()
    dialog = page.get_by_role("dialog", name="Why Benedict?")
    expect(dialog.locator(".chain li").first).to_contain_text("this face, labeled Benedict")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def test_a_face_of_long_ago_says_so(own, visit):
    tab = visit(own, forgiven=["404"])
    page = tab.open("add")
    use_camera(page)
    page.route("**/seen/*/*/why", lambda route: route.continue_(url=gone(route.request.url)))
    expect(ask_why(page)).to_contain_text("seen too long ago to be explained")


def gone(url):
    """The same request for a track that does not exist."""
    return f"{url.rsplit('/', 2)[0]}/99999/why"


def test_all_faces_that_came_to_a_name_together_go_with_one_click(own, visit):
    tab = visit(own)
    page = tab.open()
    open_person(tab, "Anastasia")
    learned = page.locator("[data-faces=learned] .face-button")
    expect(learned.first).to_be_visible()
    before = known_faces(tab)
    labeled = tab.fetched("/people")
    groups = {
        one[0]: tab.fetched(f"/faces/{one[0]}/group")["vertices"]
        for one in before
        if one[1] == "Anastasia"
    }
    vertex = max(groups, key=lambda each: len(groups[each]))
    assert len(groups[vertex]) > 1, "no two faces hang together"
    learned.locator(f"xpath=self::*[.//img[contains(@src, '/{vertex}/')]]").first.click()
    dialog = page.get_by_role("dialog", name="Why Anastasia?")
    dialog.locator("summary").click()
    dialog.get_by_role("button", name=f"None of these {len(groups[vertex])} is Anastasia").click()
    expect(page.locator(".toast")).to_contain_text("removed")
    keep_message(page)
    gone = {one[0] for one in before} - {one[0] for one in known_faces(tab)}
    assert set(groups[vertex]) <= gone
    after = tab.fetched("/people")
    assert [one["labeled"] for one in after] == [one["labeled"] for one in labeled]
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".toast")).to_contain_text("Undone")
    eventually(lambda: known_faces(tab) == before)


def test_a_face_named_by_the_frames_before_it_is_not_perhaps_that_person(own, visit):
    """ "Perhaps Ana: 100 % of the walks end at Dora", where somebody took Ana's place."""
    page = visit(own).open()
    said = page.evaluate(
        "async () => { const { longWords } = await import('./static/js/words.js');"
        " const answer = { name: 'Dora', scores: { Dora: 1, Ana: 0 }, sink: 0 };"
        " return longWords({ name: 'Ana', state: 'unsure', answer }); }"
    )
    assert said == (
        "Named Ana because of the frames before, but of the walks from this face 100 % end at Dora."
    )
