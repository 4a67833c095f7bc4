"""People, events and health: what is shown is what the service knows."""

import re

from playwright.sync_api import expect

from helpers.browsing import loaded, open_person
from helpers.services import API
from helpers.waiting import eventually
from onlooker.home.alarms import Alarm
from onlooker.web.credentials import new_code


def test_everybody_with_a_name_is_listed_with_faces(full, visit):
    tab = visit(full)
    page = tab.open("people")
    expect(page.locator(".person")).to_have_count(3)
    eventually(lambda: loaded(page.locator(".montage img")))
    page.get_by_label("Filter by name").fill("bened")
    expect(page.locator(".person")).to_have_count(1)
    expect(page.locator(".filter-row")).to_contain_text("1 of 3 people")
    page.get_by_label("Filter by name").fill("nobody at all")
    expect(page.locator(".filter-row")).to_contain_text("No person with that name.")


def test_a_click_on_a_person_whose_faces_arrive_in_the_middle_of_it_was_lost(full, visit):
    """The picture that the mouse was pressed on is replaced before the button is released."""
    page = visit(full).open("people")
    link = page.get_by_role("link", name="Open Anastasia")
    eventually(lambda: loaded(link.locator(".montage img")))
    box = link.locator("img").first.bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()
    link.locator(".montage").evaluate("one => one.replaceChildren(document.createElement('i'))")
    page.mouse.up()
    expect(page.get_by_role("heading", level=1, name="Anastasia")).to_be_visible()


def test_a_person_shows_faces_and_when_they_were_seen(full, visit):
    tab = visit(full)
    page = tab.open()
    open_person(tab, "Anastasia")
    (person,) = [one for one in tab.fetched("/people") if one["name"] == "Anastasia"]
    expect(page.locator("[data-faces=labeled] .face-button")).to_have_count(person["labeled"])
    expect(page.locator("[data-faces=learned] .face-button").first).to_be_visible()
    expect(page.locator(".history")).to_contain_text(re.compile(r"\d+ sightings?"))
    page.get_by_label("Period").select_option("7 days")
    expect(page.locator(".history")).to_contain_text(re.compile(r"\d+ sightings?"))


def test_the_address_of_nobody_says_so(full, visit):
    page = visit(full).open("people/0000000000000000")
    expect(page.locator(".empty")).to_contain_text("no person at this address any more")


def test_events_are_filtered_and_downloaded(full, visit):
    tab = visit(full)
    page = tab.open("events")
    expect(page.locator("table tbody tr").first).to_be_visible()
    page.get_by_label("Name", exact=True).select_option("Benedict")
    expect(page.locator("tbody")).not_to_contain_text("Anastasia")
    expect(page.locator("tbody")).to_contain_text("Benedict")
    page.get_by_role("button", name="What changed").click()
    page.get_by_label("Kind").select_option("labeled")
    expect(page.locator("tbody")).to_contain_text("labeled")
    expect(page.locator("tbody")).not_to_contain_text("learned automatically")
    with page.expect_download() as given:
        page.get_by_role("link", name="Download CSV").click()
    rows = given.value.path().read_text().splitlines()
    assert rows[0].startswith("sequence,time,kind")
    assert len(rows) == 1 + 12  # three people, four labels each
    assert all(",teach," in row for row in rows[1:])


def test_health_shows_every_camera_and_stage(full, visit):
    page = visit(full).open("health")
    row = page.locator("tr[data-camera=door]")
    expect(row).to_contain_text(re.compile(r"\d+\.\d ms"))
    expect(page.locator(".health-state")).to_contain_text("No problems")
    for words in ("Stored faces", "Memory", "Free disk", "Strangers", "8 hours", "sqlite"):
        expect(page.locator(".health-lists")).to_contain_text(words)


def test_signing_in_and_out(full, visit):
    tab = visit(full, signed_in=False, forgiven=["401"])
    page = tab.page
    page.goto(f"{full.address}/#/health")
    page.locator("#token").fill(full.token)
    page.keyboard.press("Enter")
    tab.ready()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("dialog", name="Sign in")).to_be_visible()
    assert tab.context.cookies() == []


def test_a_link_signs_in_once(full, visit):
    link = f"{full.address}/#login={new_code(full.folder)}"
    tab, late = visit(full, signed_in=False), visit(full, signed_in=False, forgiven=["401"])
    tab.page.goto(link)
    tab.ready()
    assert "login" not in tab.page.url
    late.page.goto(link)
    dialog = late.page.get_by_role("dialog", name="Sign in")
    expect(dialog.locator(".error")).to_contain_text("used before")
    late.page.keyboard.press("Escape")  # there is nothing else to see
    expect(dialog).to_be_visible()
    assert tab.fetched("/session")["signed_in"]


def test_a_session_is_listed_and_ended_on_the_page(full, visit):
    # its stream of events is cut off with it
    mine, other = visit(full), visit(full, forgiven=["401", "events/stream"])
    other.open("people")
    page = mine.open("health")
    (row,) = [one for one in mine.fetched("/sessions") if not one["current"]][:1]
    page.locator(f"[data-session='{row['id']}']").click()
    expect(page.locator(f"[data-session='{row['id']}']")).to_have_count(0)
    expect(other.page.get_by_role("dialog", name="Sign in")).to_be_visible()  # by itself
    assert mine.fetched("/session")["signed_in"]


def test_a_change_after_the_session_has_ended_asks_for_the_token_and_goes_on(own, visit):
    tab = visit(own, forgiven=["401"])
    page = tab.open("strangers")
    card = page.locator(".card").first
    card.get_by_role("combobox", name="Name").fill("Dorothea")
    tab.context.clear_cookies()
    card.get_by_role("button", name="Name", exact=True).click()
    page.locator("#token").fill(own.token)
    page.get_by_role("button", name="Continue").click()
    expect(page.locator(".toast")).to_contain_text("as Dorothea")


def test_a_permanent_line_and_the_policy_are_there(full, visit):
    tab = visit(full)
    page = tab.open()
    expect(page.locator("footer")).to_contain_text("Everything stays on this machine.")
    expect(page.locator("footer")).to_contain_text("This is not authentication.")
    policy = page.request.get(full.address).headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    answer = page.evaluate(
        "async () => { try { await fetch('https://example.com/'); return 'sent' }"
        " catch (error) { return error.name } }"
    )
    assert answer == "TypeError"  # the policy makes the browser refuse it
    assert any("example.com" in one for one in tab.complaints)
    tab.complaints.clear()
    tab.requested = [url for url in tab.requested if "example.com" not in url]
    assert any(API in url for url in tab.requested)


def test_an_alarm_is_announced_and_listed_with_the_faces_that_caused_it(own, visit):
    tab = visit(own)
    page = tab.open("events")
    alarm = Alarm("region", "Anastasia", (0, 1, 2))
    own.running.home_thread.submit(
        lambda home: home.replace_learner("alarm", home.learner, [alarm.change])
    ).result()
    expect(page.locator(".toast")).to_contain_text("Alarm: is this Anastasia?")
    page.get_by_role("button", name="What changed").click()
    row = page.locator("tr:has([data-alarm=region])")
    expect(row).to_contain_text(alarm.words)
    expect(row.locator("img")).to_have_count(3)
    eventually(lambda: loaded(row.locator("img")))
    row.locator("button").first.click()
    expect(page.get_by_role("dialog")).to_contain_text("this face")
