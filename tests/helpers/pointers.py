"""Pointers from the documentation into the code and the tests, and whether they still hold."""

import ast
import importlib
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def in_backticks(text: str) -> list[str]:
    """Everything a Markdown text sets in backticks.

    >>> in_backticks("`onlooker.core.errors` and `tests/helpers/pointers.py`")
    ['onlooker.core.errors', 'tests/helpers/pointers.py']
    """
    return re.findall(r"`([^`]+)`", text)


def import_object(path: str) -> object:
    """The module, class, function or method at a dotted path.

    >>> import_object("pathlib.Path.exists").__name__
    'exists'
    """
    module, *attributes = path.split(".")
    found = importlib.import_module(module)
    for name in attributes:
        module = f"{module}.{name}"
        try:
            found = getattr(found, name)
        except AttributeError:
            found = importlib.import_module(module)
    return found


def missing_test(pointer: str) -> str | None:
    """Why `tests/file.py` or `tests/file.py::test_name` points nowhere; None when it holds.

    >>> missing_test("tests/helpers/pointers.py::missing_test")
    >>> missing_test("tests/helpers/pointers.py::test_that_never_was")
    'tests/helpers/pointers.py has no test_that_never_was'
    >>> missing_test("tests/no_such_file.py")
    'there is no tests/no_such_file.py'
    """
    file, *names = pointer.split("::")
    if not (ROOT / file).is_file():
        return f"there is no {file}"
    scope: list[ast.stmt] = ast.parse((ROOT / file).read_text(encoding="utf-8")).body
    for name in names:
        definitions = {
            node.name: node.body
            for node in scope
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        }
        # A Hypothesis state machine becomes a test by assignment: `TestX = Machine.TestCase`.
        assigned = {
            target.id: []
            for node in scope
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        if name not in definitions | assigned:
            return f"{file} has no {name}"
        scope = (definitions | assigned)[name]
    return None
