"""The documentation builds strictly, loads nothing from elsewhere, and covers what is public."""

import html
import importlib
import json
import os
import re
import shlex
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import onlooker

ROOT = Path(__file__).parents[1]
STARTS = sorted((ROOT / "docs" / "start").glob("*.md"))
LOADING = {"script": "src", "img": "src", "iframe": "src", "link": "href", "source": "src"}
"""Elements that a browser loads something for, and the attribute that says what."""


class Loaded(HTMLParser):
    """The addresses that a page loads, not those that it links to."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        """Note what the element loads."""
        address = dict(attrs).get(LOADING.get(tag, ""))
        if address and dict(attrs).get("rel") not in ("canonical", "prev", "next"):
            self.found.append(address)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built documentation."""
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr  # a link or an anchor that leads nowhere is here
    return folder


def test_what_a_page_loads_is_found():
    page = '<script src="a.js"></script><a href="//x.org"><img src="https://x.org/b.png"></a>'
    assert Loaded(page).found == ["a.js", "https://x.org/b.png"]


def test_nothing_is_loaded_from_elsewhere(site):
    pages, sheets = list(site.rglob("*.html")), list(site.rglob("*.css"))
    assert len(pages) > 20
    assert sheets
    for page in pages:
        text = page.read_text(encoding="utf-8")
        away = [each for each in Loaded(text).found if re.match(r"(\w+:)?//", each)]
        assert away == [], page.name
        if page.name != "404.html":  # scripts that would, as that for diagrams, are not permitted
            assert "default-src 'self'" in text
    for sheet in sheets:
        text = sheet.read_text(encoding="utf-8")
        assert re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//[^)]*", text) == [], sheet.name


def test_every_public_name_is_in_the_reference(site):
    pages = "".join(page.read_text(encoding="utf-8") for page in (site / "api").glob("*.html"))
    for name in onlooker.__all__:
        if name != "__version__":
            assert f'id="onlooker.{name}"' in pages, name


def test_signatures_are_readable(site):
    page = (site / "api" / "learner.html").read_text(encoding="utf-8")
    signature = page.partition('id="onlooker.OnlineHarmonicLearner.teach"')[2][:4000]
    assert "x: ArrayLike" in re.sub(r"<[^>]*>", "", signature)
    assert "_SupportsArray" not in page
    assert "&gt;&gt;&gt; " in page
    assert "<blockquote>" not in page  # an example without its fence


@pytest.mark.parametrize("name", ["textures", "machines"])
def test_an_example_is_shown_with_what_it_printed_and_drew(site, name):
    page = (site / "examples" / f"{name}.html").read_text(encoding="utf-8")
    notebook = json.loads((site / "examples" / f"{name}.ipynb").read_text(encoding="utf-8"))
    source = (ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8")
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert all(cell["source"] in source for cell in code)
    outputs = [output for cell in code for output in cell["outputs"]]
    printed = "".join(each["text"] for each in outputs if each["output_type"] == "stream")
    drawn = [each["data"]["image/svg+xml"] for each in outputs if "data" in each]
    assert re.search(r"learner (0\.9|1\.0)", printed)
    assert drawn
    assert (site / "examples" / f"{name}-1.svg").read_text(encoding="utf-8") == drawn[0]
    assert f"{name}-1.svg" in page
    last = html.escape(printed.splitlines()[-1], quote=False)
    assert last in re.sub(r"<[^>]*>", "", page)


def test_an_example_that_lacks_something_says_so(site):
    """aeon, whose recordings it needs, is no part of any extra."""
    page = (site / "examples" / "voices.html").read_text(encoding="utf-8")
    assert "Not run when this page was built: voices.py needs the recordings in aeon" in page


@pytest.fixture(scope="module")
def reference():
    """The module that makes the pages."""
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        pages = importlib.import_module("_site")
    finally:
        sys.path.remove(str(ROOT / "scripts"))
    return pages


def test_every_request_has_a_curl_line(site, reference):
    description = reference.service_description()
    page = (site / "rest.html").read_text(encoding="utf-8")
    commands = dict(reference.RestReference(description).commands())
    assert len(commands) == sum(map(len, description["paths"].values()))
    for name, command in commands.items():
        assert f">{name}</code>" in page
        words = shlex.split(command)
        method, path = name.split()
        address = words[-1].partition("?")[0]
        assert address.startswith("http://127.0.0.1:8765/")
        assert "{" not in address
        assert re.fullmatch(re.sub(r"\{[^}]*\}", "[^/]+", path), address[len(reference.SERVICE) :])
        assert words[words.index("-X") + 1] == method if method != "GET" else "-X" not in words


@pytest.mark.parametrize("page", STARTS, ids=lambda page: page.stem)
def test_blocks_of_a_start_are_a_script(page):
    """`scripts/docs starts` runs them; here they are read."""
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        script = importlib.import_module("_starts").script_of(page)
    finally:
        sys.path.remove(str(ROOT / "scripts"))
    assert "pip install" in script
    assert f"scripts/docs starts {page.stem}" in " ".join(page.read_text(encoding="utf-8").split())
    subprocess.run(["bash", "-n", "-c", script], check=True)


def test_there_are_five_starts():
    assert [page.stem for page in STARTS] == [
        "home-camera", "rest", "river", "scikit-learn", "vectors",
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.parametrize("page", STARTS, ids=lambda page: page.stem)
def test_a_start_runs_in_a_fresh_environment(page):
    subprocess.run([sys.executable, ROOT / "scripts" / "_starts.py", page.stem], check=True)
