"""The map: every vertex is drawn, keeps its place, shows its face and opens its explanation."""

import numpy as np
from playwright.sync_api import expect

from helpers.browsing import checked
from helpers.services import FINDER
from helpers.waiting import DEADLINE, eventually

VERTICES = 500


def crowd(service, reel):
    """Fill the home with groups of similar faces; returns the number of vertices."""
    rng = np.random.default_rng(0)
    scenes = [pixels for scenes in reel for pixels in scenes]
    boxes = ((pixels, FINDER.detect(pixels)) for pixels in scenes)
    seeds = [FINDER.features(pixels, found[0]) for pixels, found in boxes if found][:: len(reel)]

    def act(home):
        for number in range(VERTICES):
            seed = seeds[number % len(seeds)]
            name = f"person {number % len(seeds)}" if number < len(seeds) else None
            noise = rng.normal(scale=0.05 * seed.mean(), size=seed.shape)
            vector = (seed + noise).astype(np.float32)
            if name:
                home.teach(vector, name)
            else:
                home.observe(vector, camera="door", frame=number)
        return len(home.vertices().ids)

    return service.home_thread.submit(act).result(DEADLINE)


def test_five_hundred_vertices_are_drawn_and_answer(empty, visit, reel):
    count = crowd(empty.running, reel)
    assert count > 400
    # Without motion a vertex stays under the mouse.
    tab = visit(empty, reduced_motion="reduce")
    page = tab.open("map")
    canvas = page.locator(".map-canvas")
    expect(canvas).to_have_attribute("data-vertices", str(count))
    eventually(lambda: int(canvas.get_attribute("data-painted") or 0) > 0)
    assert len(tab.fetched("/map")["vertices"]) == count
    assert color_count(page) > 50

    # Hovering shows the face, a click opens the explanation.
    box = canvas.bounding_box()
    places = [(x / 20, y / 20) for y in range(4, 17) for x in range(4, 17)]
    for across, down in places:
        page.mouse.move(box["x"] + across * box["width"], box["y"] + down * box["height"])
        if canvas.get_attribute("data-active"):
            break
    vertex = canvas.get_attribute("data-active")
    assert vertex is not None, "no vertex under the mouse anywhere"
    expect(page.locator(".map-tip")).to_be_visible()
    page.mouse.down()
    page.mouse.up()
    expect(page.locator("dialog[data-view=why] .why-part").first).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Zoom in").click()
    page.get_by_role("button", name="Fit").click()

    # The same as a table, for screen readers.
    page.locator(".map-table summary").click()
    expect(page.locator(".map-table tbody tr")).to_have_count(count)


def test_the_table_of_the_map_was_cut_off_on_a_phone(own, visit):
    tab = visit(own, viewport={"width": 390, "height": 844})
    page = tab.open("map")
    page.locator(".map-table summary").click()
    row = page.locator(".map-table tbody tr").first
    expect(row).to_be_visible()
    box = page.locator(".map-table .table-box")
    assert box.evaluate("box => box.scrollWidth <= box.clientWidth")
    row.get_by_role("button").click()
    expect(page.locator("dialog[data-view=why] .why-part").first).to_be_visible()
    page.keyboard.press("Escape")
    checked(page, "map")


def color_count(page):
    """The number of different colors on the canvas."""
    return page.locator(".map-canvas").evaluate(
        "canvas => { const { data } = canvas.getContext('2d')"
        ".getImageData(0, 0, canvas.width, canvas.height);"
        "return new Set(new Uint32Array(data.buffer)).size }"
    )


def test_the_map_grows_while_one_looks(own, visit):
    tab = visit(own)
    page = tab.open("map")
    canvas = page.locator(".map-canvas[data-vertices]")
    expect(canvas).to_be_visible()
    count = int(canvas.get_attribute("data-vertices"))
    card = tab.fetched("/strangers")[0]["card"]
    tab.posted(f"/strangers/{card}/name", name="Dorothea")
    expect(canvas).not_to_have_attribute("data-vertices", str(count))
    assert int(canvas.get_attribute("data-vertices")) > count
