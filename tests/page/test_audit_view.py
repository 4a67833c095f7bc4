"""The audit: what is shown is what the service found, and a wrong face is corrected there."""

from playwright.sync_api import expect

from helpers.browsing import loaded
from helpers.waiting import eventually


def test_an_audit_shows_the_farthest_faces_and_takes_wrong_for_an_answer(own, visit):
    tab = visit(own)
    page = tab.open("audit")
    person = page.locator("[data-person=Anastasia]")
    far = person.locator("[data-far]")
    expect(far.first).to_be_visible()
    found = tab.fetched("/audit")["audit"]
    (ana,) = [one for one in found["people"] if one["name"] == "Anastasia"]
    shown = [int(far.nth(at).get_attribute("data-far")) for at in range(far.count())]
    assert shown == [face["vertex"] for face in ana["farthest"]]
    expect(person).to_contain_text("labeled faces would still get the name")
    eventually(lambda: loaded(far.first.locator(".face-button img")))
    far.first.get_by_role("button", name="Wrong").click()
    expect(page.locator(".toast")).to_contain_text("removed")
    expect(page.locator(f"[data-far='{shown[0]}']")).to_have_count(0)  # checked again by itself
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(page.locator(f"[data-far='{shown[0]}']")).to_have_count(1)


def test_the_separation_of_people_is_drawn_and_said(own, visit):
    tab = visit(own)
    page = tab.open("audit")
    expect(page.locator(".strips li")).to_have_count(3)
    found = tab.fetched("/separation")
    drawn = page.locator(".strip .chart-own")
    expect(drawn).to_have_count(sum(len(person["learned"]) for person in found["people"]))
    expect(page.locator(".strip .chart-other")).to_have_count(2 * len(found["pairs"]))
    expect(page.locator("[data-proposed]")).to_contain_text(str(found["proposed"]))
    page.locator("[data-far] .face-button").first.click()
    expect(page.get_by_role("dialog")).to_contain_text("Why")
