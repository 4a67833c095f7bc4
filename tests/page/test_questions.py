"""Questions about strangers: one at a time, the best first, with four answers; and "not NAME"."""

from playwright.sync_api import expect

from helpers.browsing import ask_why, keep_message, open_person, use_camera

KNOWN = "Anastasia"


def question(page):
    card = page.locator(".card[data-question]")
    expect(card).to_have_count(1)
    return card


def first(page):
    """The number of the first card."""
    return page.locator(".card").first.get_attribute("data-card")


def test_the_best_question_is_first_and_yes_names_the_card(strict, visit):
    tab = visit(strict)
    page = tab.open("strangers")
    card = question(page)
    expect(card.get_by_role("heading", level=3)).to_have_text(f"Is this {KNOWN}?")
    number = card.get_attribute("data-card")
    assert number == first(page)
    assert len(tab.fetched("/strangers")) == page.locator(".card").count()
    before = tab.fetched("/people")[0]["labeled"]
    card.get_by_role("button", name="Yes").click()
    expect(page.locator(".toast")).to_contain_text(f"as {KNOWN}.")
    expect(page.locator(f".card[data-card='{number}']")).to_have_count(0)
    assert tab.fetched("/people")[0]["labeled"] > before
    expect(question(page)).not_to_have_attribute("data-card", number)
    expect(question(page)).to_be_focused()  # the next one


def test_a_yes_confirms_the_learned_faces_but_those_that_were_clicked(trusting, visit):
    tab = visit(trusting)
    page = tab.open("strangers")
    card = question(page)
    shown = tab.fetched("/questions")[0]
    learned = card.get_by_role("group", name=f"Faces taken for {KNOWN}").get_by_role("button")
    expect(learned).to_have_count(len(shown["learned"]))
    assert len(shown["learned"]) >= 2
    for one in learned.all():
        expect(one).to_have_attribute("aria-pressed", "true")
        expect(one.locator("img")).to_have_js_property("complete", True)
    learned.first.click()
    expect(learned.first).to_have_attribute("aria-pressed", "false")
    before = tab.fetched("/people")[0]["labeled"]
    card.get_by_role("button", name="Yes").click()
    expect(page.locator(".toast")).to_contain_text(f"as {KNOWN}.")
    taught = len(shown["faces"]) + len(shown["learned"]) - 1
    assert tab.fetched("/people")[0]["labeled"] == before + taught


def test_no_is_remembered_and_undone(strict, visit):
    tab = visit(strict)
    page = tab.open("strangers")
    number = question(page).get_attribute("data-card")
    question(page).get_by_role("button", name="No", exact=True).click()
    expect(page.locator(".toast")).to_contain_text(f"Not {KNOWN}, and not asked again.")
    keep_message(page)
    expect(question(page).get_by_role("heading", level=3)).to_have_text("Who is this?")
    expect(page.locator(f".card[data-card='{number}']")).to_have_count(1)  # it stays a stranger
    assert KNOWN not in [card["candidate"] for card in tab.fetched("/questions")]
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("heading", name=f"Is this {KNOWN}?")).to_be_visible()
    assert question(page).get_attribute("data-card") == number == first(page)


def test_somebody_else_is_named_as_usual(strict, visit):
    tab = visit(strict)
    page = tab.open("strangers")
    card = question(page)
    card.get_by_role("button", name="Somebody else").click()
    field = card.get_by_role("combobox", name="Name")
    expect(field).to_be_focused()
    field.fill("Dorothea")
    page.keyboard.press("Enter")
    expect(page.locator(".toast")).to_contain_text("as Dorothea")
    assert [one["name"] for one in tab.fetched("/people")] == [KNOWN, "Dorothea"]


def test_who_is_not_to_be_asked_about_is_asked_about_no_more_until_undo(strict, visit):
    tab = visit(strict)
    page = tab.open("strangers")
    number = question(page).get_attribute("data-card")
    cards = page.locator(".card").count()
    page.locator("[data-answer=skip]").click()
    expect(page.locator(".toast")).to_contain_text("Not asked about again.")
    keep_message(page)
    expect(question(page)).not_to_have_attribute("data-card", number)
    expect(page.locator(".card")).to_have_count(cards)
    expect(page.locator(f".card[data-card='{number}']")).to_contain_text(f"Maybe {KNOWN}?")
    page.get_by_role("button", name="Undo").click()
    expect(question(page)).to_have_attribute("data-card", number)


def test_without_questions_the_cards_are_there_all_the_same(strict, visit):
    tab = visit(strict)
    for card in tab.fetched("/questions"):
        tab.posted(f"/strangers/{card['card']}/ask", ask=False)
    page = tab.open("strangers")
    expect(page.locator(".card").first).to_be_visible()
    expect(page.locator("[data-question]")).to_have_count(0)


def test_a_question_about_a_card_that_is_gone_says_so(strict, visit):
    tab = visit(strict, forgiven=["404"])
    page = tab.open("strangers")
    card = question(page)
    number = card.get_attribute("data-card")

    def late(route):
        tab.posted(f"/strangers/{number}/name", name="Zacharias")
        route.continue_()

    page.route("**/strangers/*/not", late)
    card.get_by_role("button", name="No", exact=True).click()
    expect(page.locator(f".card[data-card='{number}']")).to_contain_text(
        "This card no longer exists"
    )


def test_a_candidate_is_unknown_in_the_live_picture(strict, visit):
    page = visit(strict).open("add")
    use_camera(page)
    box = page.locator(".box[data-state=nobody]", has_text=f"not known, maybe {KNOWN}?")
    expect(box.first).to_be_attached()
    expect(page.get_by_role("heading", name=f"Is this {KNOWN}?")).to_be_visible()


def test_a_face_is_remembered_not_to_be_somebody_and_undo_takes_it_back(own, visit):
    tab = visit(own)
    page = tab.open()
    open_person(tab, KNOWN)
    learned = page.locator("[data-faces=learned] .face-button")
    expect(learned.first).to_be_visible()
    count = learned.count()
    learned.first.click()
    page.get_by_role("button", name=f"Remember: not {KNOWN}").click()
    expect(page.locator(".toast")).to_contain_text(f"Remembered: not {KNOWN}.")
    keep_message(page)
    expect(learned).not_to_have_count(count)
    assert tab.fetched("/events?newest=true&limit=1")[0]["kind"] == "exclude"
    page.get_by_role("button", name="Undo").click()
    expect(learned).to_have_count(count)


def test_a_labeled_face_cannot_be_somebody_else_and_the_page_says_why(own, visit):
    tab = visit(own, forgiven=["409"])
    page = tab.open()
    open_person(tab, KNOWN)
    page.locator("[data-faces=labeled] .face-button").first.click()
    dialog = page.get_by_role("dialog", name=f"Why {KNOWN}?")
    dialog.get_by_role("button", name=f"Remember: not {KNOWN}").click()
    expect(dialog.get_by_role("alert").last).to_contain_text(f"is labeled '{KNOWN}'")


def test_nobody_i_want_to_know_has_no_name_and_no_card(own, visit):
    tab = visit(own)
    page = tab.open("add")
    use_camera(page)
    cards = len(tab.fetched("/strangers"))
    dialog = ask_why(page, ".box[data-state=known]")
    dialog.get_by_role("button", name="Nobody I want to know").click()
    expect(page.locator(".toast")).to_contain_text("Nobody, from now on.")
    hidden = [card for card in tab.fetched("/strangers?hidden=true") if card["hidden"]]
    assert (len(hidden), len(tab.fetched("/strangers")) <= cards) == (1, True)
