"""Names: plain words, and one meaning for each in the whole project."""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE, PAGE = ROOT / "src" / "onlooker", ROOT / "src" / "onlooker" / "web" / "static" / "js"
BANNED = frozenset(
    {"asked", "believed", "deeds", "drawer", "eyes", "hindsight", "kept", "life", "line"}
    | {"looked", "past", "shelf", "sight", "stock", "told"}
)
"""Words that were names here and did not say what they meant; a plain word exists for each."""

PYTHON = sorted([*SOURCE.rglob("*.py"), *(ROOT / "tests").rglob("*.py")])
SCRIPTS = sorted(PAGE.rglob("*.js"))
TEXTS = sorted([*(ROOT / "docs").glob("*.md"), ROOT / "README.md", ROOT / "ARCHITECTURE.md"])

_DECLARED = re.compile(
    r"\b(?:function\*?|class|const|let|var)[ \t]+(?:([\w$]+)|\{([^}=]*)\}\s*=|\[([^\]=]*)\]\s*=)"
)
_CODE_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")


def banned(name: str) -> bool:
    return name.strip("_").lower() in BANNED


def python_names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Every name that a module defines or assigns, and where."""
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                yield node.name, node.lineno
            case ast.arg():
                yield node.arg, node.lineno
            case ast.Name(ctx=ast.Store()):
                yield node.id, node.lineno
            case ast.Attribute(ctx=ast.Store()):
                yield node.attr, node.lineno
            case ast.alias(asname=str(name)):
                yield name, node.lineno
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                yield name, node.lineno


def script_names(text: str) -> Iterator[tuple[str, int]]:
    """Functions, classes, constants and variables of a script, and where."""
    for match in _DECLARED.finditer(text):
        for names in match.groups():
            for name in re.findall(r"[\w$]+", names or ""):
                yield name, text.count("\n", 0, match.start()) + 1


def code_spans(text: str) -> Iterator[tuple[str, int]]:
    """What a page sets in `code`, and where."""
    for match in _CODE_SPAN.finditer(text):
        yield match[1], text.count("\n", 0, match.start()) + 1


def test_no_file_has_a_name_that_says_nothing():
    files = [*PYTHON, *SCRIPTS, *TEXTS]
    folders = {folder for file in files for folder in file.relative_to(ROOT).parents}
    names = [*(file.relative_to(ROOT).with_suffix("") for file in files), *folders]
    assert [str(name) for name in names if banned(name.name)] == []


@pytest.mark.parametrize("file", PYTHON, ids=lambda file: str(file.relative_to(ROOT)))
def test_no_identifier_says_nothing(file):
    names = python_names(ast.parse(file.read_text(encoding="utf-8")))
    assert [f"{file.name}:{row} {name}" for name, row in names if banned(name)] == []


@pytest.mark.parametrize("file", SCRIPTS, ids=lambda file: file.name)
def test_no_identifier_of_the_page_says_nothing(file):
    names = script_names(file.read_text(encoding="utf-8"))
    assert [f"{file.name}:{row} {name}" for name, row in names if banned(name)] == []


@pytest.mark.parametrize("file", TEXTS, ids=lambda file: file.name)
def test_no_page_speaks_of_a_name_that_says_nothing(file):
    names = code_spans(file.read_text(encoding="utf-8"))
    assert [f"{file.name}:{row} {name}" for name, row in names if banned(name)] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("def f(told, *, _kept=1): self.life = past = 2", ["told", "_kept", "life", "past"]),
        ("import a as shelf", ["shelf"]),
        ("class Eyes: line: int", ["Eyes", "line"]),
        ("for sight in x: pass\nwith y as stock: pass", ["sight", "stock"]),
        ("f(line=1); node.line; 'told'; lines = eyesight = 1", []),
    ],
)
def test_the_words_are_found_in_python(text, found):
    assert sorted(n for n, _ in python_names(ast.parse(text)) if banned(n)) == sorted(found)


def test_the_words_are_found_in_scripts_and_pages():
    script = "const told = 1;\nlet { kept, b } = c; function life() {} // const\nclass Past {}"
    assert [name for name, _ in script_names(script) if banned(name)] == [
        "told", "kept", "life", "Past",
    ]  # fmt: skip
    assert list(code_spans("a `told` b\n```text\nkept\n```\n`x`")) == [("told", 1), ("x", 5)]


def test_no_class_name_is_used_three_times():
    where: dict[str, list[str]] = defaultdict(list)
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                where[node.name].append(f"{file.relative_to(SOURCE)}:{node.lineno}")
    assert {name: files for name, files in where.items() if len(files) >= 3} == {}


def test_few_file_names_are_used_twice():
    """Commands and routes are named after what they are about, as the package behind them is."""
    named_after_others = (SOURCE / "cli", SOURCE / "web" / "routes")
    names = Counter(
        file.name
        for file in SOURCE.rglob("*.py")
        if file.parent not in named_after_others and file.name != "__init__.py"
    )
    repeated = sorted(name for name, count in names.items() if count > 1)
    assert len(repeated) <= 3, repeated
