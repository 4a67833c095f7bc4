"""Change one thing in the code at a time: the tests of the package must fail.

    scripts/soak mutation core --sample 300 --seed 0 [--minutes 20]

A mutant is one change in a copy of the repository: another comparison, another operator of
arithmetic or logic, another number, or a statement less. Messages, docstrings, types and decorators
are left alone. First the examples of the file and the tests that are named after it run, then all
tests of the package; the survivors are printed, each with its line.
"""

import argparse
import ast
import copy
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[2]
LONGEST = 120
"""CPU seconds of the tests of one mutant; a mutant that hangs is found."""
ALL_PASSED, NO_TESTS = 0, 5
"""What pytest returns."""
COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Mod: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Pow: ast.Mult, ast.LShift: ast.RShift, ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}  # fmt: skip
LEFT_ALONE = (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom, ast.Assert, ast.Global)


def changes(tree):
    """Every change of a module: what, the line, and a function that makes it in a tree."""
    found = []

    def add(what, node, place, make):
        found.append((f"{what} {ast.unparse(node)[:60]!r}", node.lineno, place, make))

    def visit(node, place):
        if isinstance(node, LEFT_ALONE):
            return
        match node:
            case ast.Compare():
                for at, op in enumerate(node.ops):
                    if type(op) in COMPARISONS:
                        add("comparison in", node, place, _compare(at))
            case ast.BinOp() | ast.AugAssign() if type(node.op) in ARITHMETIC:
                add("arithmetic in", node, place, _operator(ARITHMETIC))
            case ast.BoolOp():
                add("and/or in", node, place, _operator({ast.And: ast.Or, ast.Or: ast.And}))
            case ast.UnaryOp(op=ast.Not()):
                add("without not:", node, place, _without_not)
            case ast.Constant(value=bool() | int() | float()):
                add("constant", node, place, _constant)
            case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Return(value=ast.AST()):
                add("without", node, place, _nothing)
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "type_params", "bases"):
                continue
            several = value if isinstance(value, list) else [value]
            for at, child in enumerate(several):
                if isinstance(child, ast.AST):
                    visit(child, [*place, (name, at if isinstance(value, list) else None)])

    for at, node in enumerate(tree.body):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):  # constants of a module are choices
            visit(node, [("body", at)])
    return found


def _compare(at):
    def make(node):
        node.ops[at] = COMPARISONS[type(node.ops[at])]()
        return node

    return make


def _operator(others):
    def make(node):
        node.op = others[type(node.op)]()
        return node

    return make


def _without_not(node):
    return node.operand


def _constant(node):
    node.value = not node.value if isinstance(node.value, bool) else node.value + 1
    return node


def _nothing(_):
    return ast.Pass()


def mutated(source, place, make):
    """The source with one change."""
    tree = copy.deepcopy(ast.parse(source))
    parent = tree
    for name, at in place[:-1]:
        child = getattr(parent, name)
        parent = child if at is None else child[at]
    name, at = place[-1]
    if at is None:
        setattr(parent, name, make(getattr(parent, name)))
    else:
        getattr(parent, name)[at] = make(getattr(parent, name)[at])
    return ast.unparse(ast.fix_missing_locations(tree))


def is_found(copied, package, module):
    """Whether any test fails with the copy as it is now."""
    own = copied / f"tests/{package}/test_{module}.py"
    source = copied / f"src/onlooker/{package}/{module}.py"
    stages = [[source, *([own] if own.exists() else [])], [copied / "tests" / package]]
    return any(_fails(copied, stage) for stage in stages)


def _fails(copied, tests):
    """Run tests in a fork of this process, which has the large libraries already."""
    child = os.fork()
    if not child:
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (LONGEST, LONGEST))
            signal.alarm(20 * LONGEST)
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            os.chdir(copied)
            sys.path[:0] = [str(copied / "src"), str(copied / "tests")]
            options = ["-q", "-x", "-n", "0", "-p", "no:cacheprovider", f"--rootdir={copied}"]
            os._exit(int(sys.modules["pytest"].main([*options, *map(str, tests)])))
        except BaseException:
            os._exit(3)
    _, status = os.waitpid(child, 0)
    return not os.WIFEXITED(status) or os.WEXITSTATUS(status) not in (ALL_PASSED, NO_TESTS)


def main():
    """Make a sample of all mutants of a package and print the survivors."""
    parser = argparse.ArgumentParser(
        prog="scripts/soak mutation", description=__doc__.splitlines()[0]
    )
    parser.add_argument("package", help="core, home, ...")
    parser.add_argument("--sample", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="end then, if before")
    options = parser.parse_args()
    for name in ("numpy", "scipy.linalg", "scipy.sparse.csgraph", "pytest"):
        import_module(name)  # once for all forks
    os.environ["CI"] = "1"
    end = time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory() as folder:
        copied = Path(folder, "onlooker")
        copied.mkdir()
        for name in ("src", "tests"):
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, copied / name, ignore=ignored)
        for name in ("pyproject.toml", "README.md"):
            shutil.copy(ROOT / name, copied)
        files = sorted((copied / "src/onlooker" / options.package).glob("*.py"))
        every = [
            (file, *change) for file in files for change in changes(ast.parse(file.read_text()))
        ]
        rng = random.Random(options.seed)
        sample = rng.sample(every, min(options.sample, len(every)))
        if _fails(copied, [files[0].parent]):
            raise SystemExit("the tests fail without any change; mend them first")
        made, survivors = 0, []
        for file, what, row, place, make in sample:
            if time.monotonic() > end:
                break
            source = file.read_text()
            file.write_text(mutated(source, place, make))
            try:
                found = is_found(copied, options.package, file.stem)
            finally:
                file.write_text(source)
            made += 1
            if not found:
                survivors.append(f"{options.package}/{file.name}:{row}: {what}")
                print(survivors[-1], flush=True)
    print(f"{made} of {len(every)} mutants, {made - len(survivors)} found, {len(survivors)} not")


if __name__ == "__main__":
    main()
