"""What mkdocs needs from us: generated pages, and docstrings as Markdown. mkdocs.yml names it.

Examples are run, and shown with what they print and draw. The REST reference is made from the
description that the service itself gives, so the two cannot differ. Pages of the root folder
(README and others) are shown with their links turned to the site.
"""

import contextlib
import io
import json
import re
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
from griffe import Extension, Object
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

matplotlib.use("svg")

ROOT = Path(__file__).parents[1]
ROOT_PAGES = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security-policy.md",
}
NOT_ON_THE_SITE = re.compile(r"\[([^\]]+)\]\((?:CITATION\.cff|LICENSE|examples)\)")
SAME_EVERY_TIME = {"svg.hashsalt": "onlooker"}
SERVICE = "http://127.0.0.1:8765"
OPEN = ("/api/v1/alive",)
"""What needs no token."""
EXAMPLES = {"person": "ana", "name": "ana", "camera": "door", "source": "0", "key": "0"}
REST_INTRODUCTION = """\
# REST reference

Made from the description that the service gives of itself at `/api/v1/openapi.json`. All but
`alive` and `session` need the token, also on this computer; a
[start in five minutes](start/rest.md) puts it into the variable `TOKEN`, where the lines below take
it from ([security](security.md): who is let in). An error is an object with one sentence.
"""
PARAMETER = re.compile(r"^(\*{0,2}\w+(?:, \w+)*): (?=\S)")


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    pages = {page: from_root(ROOT / name) for name, page in ROOT_PAGES.items()}
    pages["rest.md"] = RestReference(service_description()).page()
    for example in sorted((ROOT / "examples").glob("*.py")):
        pages |= from_example(example)
    for page, text in pages.items():
        files.append(File.generated(config, page, content=text))
    return files


def from_root(page: Path) -> str:
    """A page of the root folder, with links that lead to pages of the site."""
    text = page.read_text(encoding="utf-8").replace("](docs/", "](")
    for name, target in ROOT_PAGES.items():
        text = text.replace(f"]({name}", f"]({target}")
    return NOT_ON_THE_SITE.sub(r"`\1`", text)


# ---- examples


@dataclass
class Cell:
    """A part of an example, and what came out when it ran."""

    text: str
    is_code: bool
    printed: str = ""
    figures: list[str] = field(default_factory=list)
    """As SVG."""


def cells_of(example: Path) -> Iterator[Cell]:
    """The cells of a script (`# %%` begins one): text without its comment signs, and code."""
    for cell in re.split(r"^# %%", example.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        kind, _, body = cell.partition("\n")
        if "[markdown]" in kind:
            yield Cell(re.sub(r"^# ?", "", body.strip(), flags=re.MULTILINE), is_code=False)
        elif body.strip():
            yield Cell(body.strip(), is_code=True)


def executed(cells: list[Cell]) -> str:
    """Run the code of the cells in turn, and keep what it prints and draws.

    The answer is empty, or why the example ended itself: what it needs is not installed.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in cells:
        if not cell.is_code:
            continue
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed), matplotlib.rc_context(SAME_EVERY_TIME):
                exec(compile(cell.text, "example", "exec"), names)
                for number in plt.get_fignums():
                    drawn = io.StringIO()
                    plt.figure(number).savefig(drawn, format="svg", metadata={"Date": None})
                    cell.figures.append(drawn.getvalue())
        except SystemExit as error:
            return str(error)
        finally:
            plt.close("all")
        cell.printed = printed.getvalue()
    return ""


def from_example(example: Path) -> dict[str, str]:
    """Page, notebook and pictures by their paths: the example with what it printed and drew."""
    cells = list(cells_of(example))
    missing = executed(cells)
    parts, files = [], {}
    for cell in cells:
        parts.append(f"```python\n{cell.text}\n```" if cell.is_code else cell.text)
        if cell.printed:
            parts.append(f"```text\n{cell.printed.rstrip()}\n```")
        for figure in cell.figures:
            name = f"{example.stem}-{len(files) + 1}.svg"
            files[f"examples/{name}"] = figure
            parts.append(f"![What the code above draws]({name})")
    if missing:
        parts.append(f"*Not run when this page was built: {missing}*")
    else:
        notebook = f"{example.stem}.ipynb"
        files[f"examples/{notebook}"] = json.dumps(as_notebook(cells), indent=1)
        parts.append(f"*Run when this page was built; the same as a [notebook]({notebook}).*")
    parts.append(f"*The source is `examples/{example.name}`; a test runs it.*")
    return files | {f"examples/{example.stem}.md": "\n\n".join(parts) + "\n"}


def as_notebook(cells: list[Cell]) -> dict[str, Any]:
    """A Jupyter notebook (format 4.5) of executed cells."""
    shown: list[dict[str, Any]] = []
    for number, cell in enumerate(cells):
        entry: dict[str, Any] = {"id": f"cell-{number}", "metadata": {}, "source": cell.text}
        if not cell.is_code:
            shown.append({**entry, "cell_type": "markdown"})
            continue
        outputs: list[dict[str, Any]] = [
            {"output_type": "display_data", "metadata": {}, "data": {"image/svg+xml": figure}}
            for figure in cell.figures
        ]
        if cell.printed:
            outputs.insert(0, {"output_type": "stream", "name": "stdout", "text": cell.printed})
        count = 1 + sum(each["cell_type"] == "code" for each in shown)
        shown.append({**entry, "cell_type": "code", "execution_count": count, "outputs": outputs})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": shown, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


# ---- docstrings


class ReadableDocstrings(Extension):
    """Our docstrings are plain text; here examples get their fence and parameters their list."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Called by griffe for each module, class, function and attribute."""
        if obj.docstring:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(docstring: str) -> str:
    """Fence runs of examples, and make a list of lines of the form `name: meaning`.

    >>> print(as_markdown("Add.\\n\\n>>> add(1)\\n2\\n\\nx: the number\\n  of things"))
    Add.
    <BLANKLINE>
    ```pycon
    >>> add(1)
    2
    ```
    <BLANKLINE>
    - `x`: the number
      of things
    """
    paragraphs = re.split(r"\n[ \t]*\n", docstring.strip("\n"))
    return "\n\n".join(map(_paragraph, paragraphs))


def _paragraph(text: str) -> str:
    if text.lstrip().startswith(">>>"):
        indent = len(text) - len(text.lstrip())
        return "\n".join(["```pycon", *(row[indent:] for row in text.splitlines()), "```"])
    if PARAMETER.match(text):
        rows = (PARAMETER.sub(r"- `\1`: ", row) for row in text.splitlines())
        return "\n".join(row if row.startswith(("-", " ")) else f"  {row}" for row in rows)
    return text


# ---- REST


def service_description() -> dict[str, Any]:
    """What /api/v1/openapi.json of a service says; one with an empty home is made to ask it."""
    from onlooker import HeatKernel, OnlineHarmonicLearner
    from onlooker.home import Home
    from onlooker.strangers.book import StrangerBook
    from onlooker.vision.finder import FaceFinder
    from onlooker.web.app import create_app
    from onlooker.web.auth import Guard
    from onlooker.web.credentials import Credentials
    from onlooker.web.frames import LiveRecognizer
    from onlooker.web.service import Service

    finder = FaceFinder(kind="hog")
    with tempfile.TemporaryDirectory() as folder:

        def open_home() -> Home:
            kernel = HeatKernel(0.65, 1.4e-5, finder.features.distance)
            tag = finder.features.tag
            return Home(folder, new_learner=lambda: OnlineHarmonicLearner(kernel, features=tag))

        with Service(open_home, StrangerBook, LiveRecognizer(finder)) as service:
            return create_app(service, guard=Guard(Credentials(Path(folder)))).openapi()


class RestReference:
    """The reference in Markdown: each operation with parameters, answers and a curl line."""

    def __init__(self, description: dict[str, Any]) -> None:
        self._schemas = description["components"]["schemas"]
        self._operations = [
            (path, method, operation)
            for path, methods in description["paths"].items()
            for method, operation in methods.items()
        ]
        self._everywhere = set.intersection(
            *(set(operation["responses"]) for _, _, operation in self._operations)
        ) - {"200"}

    def page(self) -> str:
        """The whole page."""
        return "\n".join(self._lines()) + "\n"

    def commands(self) -> Iterator[tuple[str, str]]:
        """The name of each operation, and the curl line that asks for it."""
        for path, method, operation in self._operations:
            yield f"{method.upper()} {path}", self._curl(path, method, operation)

    def _lines(self) -> Iterator[str]:
        yield REST_INTRODUCTION
        yield f"Any request can get {', '.join(sorted(self._everywhere))} instead.\n"
        group = ""
        for path, method, operation in sorted(self._operations, key=lambda each: _group(each[0])):
            if group != _group(path):
                group = _group(path)
                yield f"## {group}\n"
            yield f"### `{method.upper()} {path}`\n"
            yield operation["description"].strip() + "\n"
            yield from _table("parameter", map(_parameter_row, operation.get("parameters", [])))
            yield f"```bash\n{self._curl(path, method, operation)}\n```\n"
            answers = operation["responses"].items()
            shown = [
                f"{code}: {_answer(of)}" for code, of in answers if code not in self._everywhere
            ]
            success = [f"{code}: {_answer(of)}" for code, of in answers if code in ("200",)]
            yield "Answers " + "; ".join(dict.fromkeys(success + shown)) + ".\n"
        yield "## Objects\n"
        for name, schema in sorted(self._schemas.items()):
            yield f"### {name} {{ #object-{name.lower()} }}\n"
            yield schema.get("description", "").strip() + "\n"
            rows = (_field_row(field, of) for field, of in schema.get("properties", {}).items())
            yield from _table("field", rows)

    def _curl(self, path: str, method: str, operation: dict[str, Any]) -> str:
        """A command with a value for every parameter that is needed."""
        query = []
        for each in operation.get("parameters", []):
            name, value = each["name"], EXAMPLES.get(each["name"], "1")
            path = path.replace(f"{{{name}}}", value)
            if each["in"] == "query" and each["required"]:
                query.append(f"{name}={value}")
        words = ["curl"] if path in OPEN else ["curl", '-H "Authorization: Bearer $TOKEN"']
        if method != "get":
            words.append(f"-X {method.upper()}")
        bodies = operation.get("requestBody", {}).get("content", {})
        if "application/json" in bodies:
            body = json.dumps(self._body(bodies["application/json"]["schema"]["$ref"]))
            words += ["-H 'Content-Type: application/json'", f"-d '{body}'"]
        elif bodies:
            words.append("--data-binary @picture.jpg")
        return " ".join([*words, f"'{SERVICE}{path}{'?' if query else ''}{'&'.join(query)}'"])

    def _body(self, reference: str) -> dict[str, Any]:
        schema = self._schemas[reference.rpartition("/")[2]]
        needed = schema.get("required") or list(schema["properties"])[:1]
        return {name: _value(name, schema["properties"][name]) for name in needed}


def _group(path: str) -> str:
    return path.removeprefix("/api/v1/").partition("/")[0].partition(".")[0]


def _table(first: str, rows: Iterable[str]) -> Iterator[str]:
    rows = list(rows)
    if rows:
        yield f"| {first} | type | meaning |\n|---|---|---|"
        yield from rows
        yield ""


def _parameter_row(each: dict[str, Any]) -> str:
    of = each["schema"]
    where = each["in"] if not each["required"] or each["in"] == "path" else "query, required"
    meaning = each.get("description") or of.get("description", "")
    default = of.get("default")
    rest = f"Default `{json.dumps(default)}`." if default is not None else ""
    return f"| `{each['name']}` ({where}) | {_type(of)} | {_cell(f'{meaning} {rest}')} |"


def _field_row(field: str, of: dict[str, Any]) -> str:
    return f"| `{field}` | {_type(of)} | {_cell(of.get('description', ''))} |"


def _answer(answer: dict[str, Any]) -> str:
    kinds = answer.get("content", {}).items()
    shown = {_type(of.get("schema", {})) if "json" in kind else f"`{kind}`" for kind, of in kinds}
    return " or ".join(sorted(shown)) or "nothing"


def _value(name: str, of: dict[str, Any]) -> Any:
    of = next((each for each in of.get("anyOf", ()) if each.get("type") != "null"), of)
    match of.get("type"):
        case "boolean":
            return True
        case "integer" | "number":
            return 1
        case "array":
            return [_value(name, of["items"])]
    return EXAMPLES.get(name, "ana")


def _type(schema: dict[str, Any]) -> str:
    if reference := schema.get("$ref"):
        name = reference.rpartition("/")[2]
        return f"[{name}](#object-{name.lower()})"
    if either := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(dict.fromkeys(map(_type, either)))
    if "enum" in schema or "const" in schema:
        return " or ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("type", "anything"))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
