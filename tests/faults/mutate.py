"""Change one thing in the code at a time: the tests of the package must fail.

    scripts/soak mutation core --sample 300 --seed 0 [--minutes 20] [--drawn-from COMMIT]

A mutant is one change in a copy of the repository: another comparison, another operator of
arithmetic or logic, another number, or a statement less. Messages, docstrings, types and decorators
are left alone.

The tests are collected once, in one process. First each runs with a note at every statement of
the package: how long it took, which statements it reached, and whether it started a process.
Then for each mutant the process forks, the code of the changed function is replaced in place, and
the tests that reach the statement run until one fails: the quickest first, those of Hypothesis with
few examples first, those that start processes last. A mutant that takes too long is found. Those
that change no function (a default, the body of a class) run in a process of their own.

Survivors are printed with their number in the sample. `equivalent.txt` lists those that no test can
find, each with the reason.

Any change of the code gives another sample. `--drawn-from COMMIT` draws it from the code of that
commit, and leaves out what is not in the code any more: so a sample can be tried again.
"""

import argparse
import ast
import gc
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import Counter, defaultdict
from contextlib import contextmanager
from functools import _lru_cache_wrapper, partial
from io import BytesIO
from pathlib import Path
from types import CodeType, FunctionType

import pytest

ROOT = Path(__file__).parents[2]
TESTS = {
    "core": ["src/onlooker/core", "tests/core", "tests/paper"],
    "home": ["src/onlooker/home", "tests/home", "tests/strangers"],
}
"""What must find the mutants of a package, if not its own tests alone."""
LISTED = Path(__file__).with_name("equivalent.txt")
SLOWER, PAUSE = 10, 5
"""A test that takes so often its time, and a pause, hangs: the mutant is found."""
QUICK = 2
"""CPU seconds of the tests that are tried first, with all mutants, before the others are."""
LONGEST = 15
"""Seconds of the longest test that starts processes and is run; those run for every survivor."""
OWN_PROCESS = 1200
"""Seconds for all tests in a process of their own."""
MEMORY = 6 * 2**30
FEW_EXAMPLES = 12
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


def tests_of(package):
    """Where the tests of a package are."""
    return TESTS.get(package, [f"src/onlooker/{package}", f"tests/{package}"])


# ---- mutants


def changes(tree):
    """Every change of a module: what, the line, the place, and a function that makes it there."""
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


def along(tree, place):
    """The nodes on the way to a place, the tree first."""
    nodes = [tree]
    for name, at in place:
        child = getattr(nodes[-1], name)
        nodes.append(child if at is None else child[at])
    return nodes


def mutated(source, place, make):
    """The tree of a source with one change; every line keeps its number."""
    tree = ast.parse(source)
    parent, node = along(tree, place)[-2:]
    name, at = place[-1]
    new = ast.copy_location(make(node), node)
    if at is None:
        setattr(parent, name, new)
    else:
        getattr(parent, name)[at] = new
    return ast.fix_missing_locations(tree)


class Mutant:
    """One change of one file, and the statements at which its effect begins."""

    def __init__(self, number, text, file, _, row, place, make):
        self.number, self.text, self.file, self.row = number, text, file, row
        self.source = file.read_text(encoding="utf-8")
        self.tree = mutated(self.source, place, make)
        nodes = along(ast.parse(self.source), place)
        functions = [at for at, node in enumerate(nodes) if isinstance(node, ast.FunctionDef)]
        inner = functions[-1] if functions else None
        self.reached_by = None
        """The row of a statement that is reached whenever the change has an effect."""
        self.in_function = inner is not None and place[inner][0] == "body"
        if self.in_function:
            statements = [each for each in nodes[inner + 1 :] if isinstance(each, ast.stmt)]
            self.reached_by = statements[-1].lineno


def all_changes(folder):
    """Every change of the files in a folder, by its text; one that reads the same has a number."""
    found, counts = {}, Counter()
    for file in sorted(folder.glob("*.py")):
        source = file.read_text(encoding="utf-8")
        tree, rows = ast.parse(source), source.splitlines()
        for what, row, place, make in changes(tree):
            nodes = along(tree, place)
            named = [
                each.name for each in nodes if isinstance(each, ast.FunctionDef | ast.ClassDef)
            ]
            where = f"{folder.name}/{file.name} {'.'.join(named)}"
            text = f"{where}: {what} in: {rows[row - 1].strip()}"
            counts[text] += 1
            key = text if counts[text] == 1 else f"{text} [{counts[text]}]"
            found[key] = file, what, row, place, make
    return found


def drawn(every, package, commit, seed, size):
    """Numbers and texts of a sample, of these changes or of those that a commit has."""
    if commit is not None:
        command = ["git", "archive", commit, f"src/onlooker/{package}"]
        content = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
        with tempfile.TemporaryDirectory() as folder:
            with tarfile.open(fileobj=BytesIO(content)) as archive:
                archive.extractall(folder, filter="data")
            every = all_changes(Path(folder, "src/onlooker", package))
    return list(enumerate(random.Random(seed).sample(list(every), min(size, len(every)))))


def codes(code):
    """All code in a code object, by name and first line."""
    found = {(code.co_qualname, code.co_firstlineno): code}
    for each in code.co_consts:
        if isinstance(each, CodeType):
            found |= codes(each)
    return found


def replace_code(file, tree, functions):
    """Replace the code of every living function of a file."""
    new = codes(compile(tree, str(file), "exec"))
    for function in functions[str(file)]:
        key = function.__code__.co_qualname, function.__code__.co_firstlineno
        if key in new:
            function.__code__ = new[key]


def living_functions(folder):
    """Every function whose code is in a file of a folder, by file."""
    found = defaultdict(list)
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__code__.co_filename.startswith(str(folder)):
            found[each.__code__.co_filename].append(each)
    return found


def remembering_functions():
    """Every function of the package that remembers: what an earlier test left hides a change."""
    wrapped = (each for each in gc.get_objects() if isinstance(each, _lru_cache_wrapper))
    return [each for each in wrapped if each.__module__.startswith("onlooker.")]


# ---- what each test reaches


class Notes(ast.NodeTransformer):
    """Adds a note before each statement of a function: the file and the row."""

    def __init__(self, file):
        self.file, self.depth = file, 0

    def visit_FunctionDef(self, node):
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1
        return node

    def generic_visit(self, node):
        super().generic_visit(node)
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if self.depth and isinstance(block, list) and not isinstance(node, ast.ClassDef):
                setattr(node, name, [new for each in block for new in self._noted(each)])
        return node

    def _noted(self, statement):
        if isinstance(statement, ast.Global | ast.Nonlocal):
            return [statement]
        note = ast.parse(f"__builtins__['note']({(self.file, statement.lineno)!r})").body[0]
        for each in ast.walk(note):
            ast.copy_location(each, statement)
        is_docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        return [statement, note] if is_docstring else [note, statement]


class Laboratory:
    """A plugin of pytest: collects the tests as usual, then runs them for each mutant."""

    def __init__(self, copied, package, mutants, seconds, measured, equivalent):
        self.copied, self.package, self.mutants = copied, package, mutants
        self.measured, self.equivalent = measured, equivalent
        self.end = time.monotonic() + seconds
        self.survivors, self.listed, self.made, self.failed, self.left_out = [], [], 0, [], []

    def pytest_runtestloop(self, session):
        """Instead of running each test once."""
        if session.testsfailed:
            raise SystemExit("the tests cannot be collected")
        self.items = {item.nodeid: item for item in session.items}
        self.functions = living_functions(self.copied / "src")
        self.remembering = remembering_functions()
        gc.collect()
        gc.freeze()
        started = time.monotonic()
        self.measure()
        print(
            f"{len(self.seconds)} tests took {time.monotonic() - started:.0f} s "
            f"({sum(self.seconds.values()):.0f} s of the processor), {len(self.starts_process)} "
            f"start processes\nnot used: {self.failed or 'none'} fail without a change, "
            f"{self.left_out or 'none'} take too long",
            flush=True,
        )
        left = self.try_all(self.mutants, self.quick_killer)
        self.made = len(self.mutants) - len(self.untried)
        print(f"{self.made} tried with the quickest tests, {len(left)} not found yet", flush=True)
        self.listed = [mutant for mutant in left if mutant.text in self.equivalent]
        left = [mutant for mutant in left if mutant not in self.listed]
        self.survivors = self.try_all(left, self.killer) + self.untried
        return True

    def clear_caches(self):
        """Let every function compute again."""
        for each in self.remembering:
            each.cache_clear()

    def try_all(self, mutants, killer):
        """Those of some mutants that nothing finds, until the time is over."""
        survivors, self.untried = [], list(mutants)
        while self.untried and time.monotonic() < self.end:
            mutant, started = self.untried.pop(0), time.monotonic()
            found = killer(mutant)
            survivors += [] if found else [mutant]
            by = f"found by {found}" if found else "SURVIVES"
            took = f"{time.monotonic() - started:.1f} s"
            print(f"{mutant.number}: {mutant.text}, line {mutant.row}: {by} ({took})", flush=True)
        return survivors

    def measure(self):
        """Run each test with notes: seconds, statements, whether it starts a process."""
        self.seconds, self.waited, self.reaches, self.starts_process = {}, {}, {}, set()
        known = json.loads(self.measured.read_text()) if self.measured else []
        known = {report[0]: report for report in known}
        new = [name for name in self.items if name not in known]
        known |= {report[0]: report for report in in_fork(partial(self.measure_in_child, new))}
        if self.measured:
            self.measured.write_text(json.dumps(list(known.values())))
        for report in (known[name] for name in self.items):
            name, passed, seconds, waited, reached, starts = report
            if starts and waited > LONGEST:
                self.left_out.append(name)
            elif passed:
                self.seconds[name], self.waited[name] = seconds, waited
                self.reaches[name] = {tuple(each) for each in reached}
                self.starts_process |= {name} if starts else set()
            else:
                self.failed.append(name)

    def measure_in_child(self, names, say):
        reached, started = set(), []
        __builtins__.note = reached.add
        starts = "subprocess.Popen", "os.fork", "os.posix_spawn"
        sys.addaudithook(lambda event, _: event in starts and started.append(event))
        few_examples(self.items.values(), None)
        for file in self.functions:
            tree = ast.parse(Path(file).read_text(encoding="utf-8"))
            notes = Notes(str(Path(file).relative_to(self.copied)))
            replace_code(file, ast.fix_missing_locations(notes.visit(tree)), self.functions)
        for at, name in enumerate(names):
            self.clear_caches()
            reached.clear()
            started.clear()
            begin = time.process_time(), time.monotonic()
            passed = self.passes([name], names[at + 1 : at + 2])
            took = time.process_time() - begin[0], time.monotonic() - begin[1]
            say([name, passed, *took, list(reached), bool(started)])

    def passes(self, names, after=()):
        """Run tests in this process, until one fails."""
        every = [self.items[name] for name in [*names, *after]]
        failed = []

        class Listener:
            def pytest_runtest_logreport(self, report):
                if report.failed:
                    failed.append(report.nodeid)

        for at, name in enumerate(names):
            item, following = self.items[name], every[at + 1] if at + 1 < len(every) else None
            manager = item.config.pluginmanager
            listener = Listener()
            manager.register(listener)
            try:
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            finally:
                manager.unregister(listener)
            if failed:
                return False
        return True

    def killer(self, mutant):
        """The first test that fails with a change, or None."""
        if not mutant.in_function:
            tests = [*self.of_file(mutant.file), *tests_of(self.package)]
            with changed_file(mutant):
                return "a process of its own" if fails(self.copied, tests) else None
        reaching, processes = self.reaching(mutant), self.starts_process
        slow = sorted(processes, key=lambda name: (name not in reaching, self.seconds[name]))
        stages = [(reaching, FEW_EXAMPLES), (self.with_examples(reaching), None), (slow, None)]
        with changed_file(mutant):
            for names, examples in stages:
                if found := self.first_failure(mutant, names, examples):
                    return found
        return None

    def quick_killer(self, mutant):
        """The first of the quickest tests that fails with a change, or None."""
        if not mutant.in_function:
            return None
        names, left = [], QUICK
        for name in self.reaching(mutant):
            left -= self.seconds[name]
            if left < 0:
                break
            names.append(name)
        return self.first_failure(mutant, names, FEW_EXAMPLES)

    def reaching(self, mutant):
        """The tests within this process that reach the change, the quickest first."""
        at = str(mutant.file.relative_to(self.copied)), mutant.reached_by
        found = {name for name, reached in self.reaches.items() if at in reached}
        return sorted(found - self.starts_process, key=self.seconds.__getitem__)

    def first_failure(self, mutant, names, examples):
        """The first of some tests that fails with a change, or None."""
        running = "no test"
        for report in in_fork(partial(self.run_stage, mutant, names, examples)):
            if report[0] == "passed":
                return None
            running = report[1]
        return running

    def of_file(self, file):
        own = self.copied / f"tests/{self.package}/test_{file.stem}.py"
        return [file, *([own] if own.exists() else [])]

    def with_examples(self, names):
        return [name for name in names if hypothesis_settings(self.items[name])]

    def run_stage(self, mutant, names, examples, say):
        few_examples((self.items[name] for name in names), examples)
        replace_code(mutant.file, mutant.tree, self.functions)
        self.clear_caches()
        for at, name in enumerate(names):
            say(["running", name])
            limit_time(self.seconds[name], self.waited[name])
            if not self.passes([name], names[at + 1 : at + 2]):
                os._exit(1)
        say(["passed"])


def hypothesis_settings(item):
    """The function of a test that carries settings of Hypothesis, or None."""
    function = getattr(item, "obj", None)
    function = getattr(function, "__func__", function)
    return function if hasattr(function, "hypothesis") else None


def few_examples(items, most):
    """Let Hypothesis repeat itself, not shrink, and try few examples if told so."""
    from hypothesis import Phase, settings  # not before pytest, which wants to rewrite it

    for item in items:
        function = hypothesis_settings(item)
        if function is None:
            continue
        old = getattr(function, "_hypothesis_internal_use_settings", settings.default)
        function._hypothesis_internal_use_settings = settings(
            old,
            max_examples=min(most or old.max_examples, old.max_examples),
            phases=[Phase.explicit, Phase.generate],
            database=None,
            derandomize=True,
        )


def limit_time(seconds, waited):
    """End this process if a test hangs, computing or waiting, that took so long before."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(usage.ru_utime + usage.ru_stime + PAUSE + SLOWER * seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
    signal.alarm(int(SLOWER * (PAUSE + SLOWER * waited)))


def in_fork(run):
    """Call run(say) in a fork; what it says, until it ends."""
    scratch = tempfile.mkdtemp()
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(reading)
            os.setsid()
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            os.environ["TMPDIR"] = tempfile.tempdir = scratch
            with os.fdopen(writing, "w", buffering=1) as said:
                run(lambda report: said.write(json.dumps(report) + "\n"))
        finally:
            os._exit(0)
    os.close(writing)
    try:
        with os.fdopen(reading) as said:
            for row in said:
                yield json.loads(row)
    finally:
        os.waitpid(child, 0)
        shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def changed_file(mutant):
    """The file of a mutant as it reads with the change, for the tests that start processes."""
    mutant.file.write_text(ast.unparse(mutant.tree), encoding="utf-8")
    try:
        yield
    finally:
        mutant.file.write_text(mutant.source, encoding="utf-8")


def fails(copied, tests):
    """Whether any of some tests fails, in a process of its own."""
    options = ["-q", "-x", "-n", "0", "-p", "no:cacheprovider"]
    try:
        run = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *map(str, tests)],
            cwd=copied,
            capture_output=True,
            timeout=OWN_PROCESS,
        )
    except subprocess.TimeoutExpired:
        return True
    return run.returncode not in (ALL_PASSED, NO_TESTS)


def listed():
    """The mutants of `equivalent.txt`; the reasons are indented."""
    rows = LISTED.read_text(encoding="utf-8").splitlines()
    return {row.strip() for row in rows if row and not row[0].isspace()}


def main():
    """Make a sample of all mutants of a package and print the survivors."""
    parser = argparse.ArgumentParser(
        prog="scripts/soak mutation", description=__doc__.splitlines()[0]
    )
    parser.add_argument("package", help="core, home, ...")
    parser.add_argument("--sample", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="end then, if before")
    parser.add_argument("--numbers", type=int, nargs="*", help="only these of the sample")
    parser.add_argument(
        "--drawn-from", metavar="COMMIT", help="whose code the sample is drawn from"
    )
    parser.add_argument("--tests", nargs="*", help="only these tests")
    parser.add_argument(
        "--measured", type=Path, help="a file of what tests reach; new tests are added to it"
    )
    options = parser.parse_args()
    if options.measured:
        options.measured = options.measured.absolute()
        if not options.measured.exists():
            options.measured.write_text("[]")
    os.environ |= {"CI": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    sys.dont_write_bytecode = True
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        tempfile.tempdir = folder
        copied = Path(folder, "onlooker")
        copied.mkdir()
        for name in ("src", "tests"):
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, copied / name, ignore=ignored)
        for name in ("pyproject.toml", "README.md"):
            shutil.copy(ROOT / name, copied)
        every = all_changes(copied / "src/onlooker" / options.package)
        sample = drawn(every, options.package, options.drawn_from, options.seed, options.sample)
        gone = [text for _, text in sample if text not in every]
        mutants = [
            Mutant(number, text, *every[text])
            for number, text in sample
            if text in every and (options.numbers is None or number in options.numbers)
        ]
        os.chdir(copied)
        sys.path[:0] = [str(copied / "src"), str(copied / "tests")]
        os.environ["PYTHONPATH"] = os.pathsep.join(sys.path[:2])
        seconds = 60 * options.minutes
        laboratory = Laboratory(
            copied, options.package, mutants, seconds, options.measured, listed()
        )
        tests = options.tests or tests_of(options.package)
        arguments = ["-q", "-n", "0", "-p", "no:cacheprovider", "-s"]
        pytest.main([*arguments, f"--rootdir={copied}", *tests], plugins=[laboratory])
        os.chdir(ROOT)
    made, known, left = laboratory.made, laboratory.listed, laboratory.survivors
    print(
        f"{made} of {len(every)} mutants: {made - len(known) - len(left)} found, "
        f"{len(known)} listed, {len(left)} not found; {len(gone)} of the sample are gone"
    )
    for text in gone:
        print(f"gone: {text}")
    for each in left:
        print(f"{each.number}: {each.text}, line {each.row}")
    sys.exit(bool(left))


if __name__ == "__main__":
    main()
