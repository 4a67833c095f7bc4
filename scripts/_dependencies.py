"""Ask a database of advisories (OSV) about every installed package.

    scripts/soak dependencies                     exit 0: none is known to have a hole
    scripts/soak dependencies --database URL      another database with the same interface

Exit 1: some are, and each is listed. Exit 3: nobody could be asked, or the answer made no sense;
then nothing was audited, and that is what it says. Only names and versions of packages are sent.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from http.client import HTTPException
from importlib.metadata import distributions
from typing import Any, NamedTuple
from urllib.error import URLError
from urllib.request import Request, urlopen

DATABASE = "https://api.osv.dev/v1/querybatch"
AT_ONCE = 500
"""Packages in one request; the database takes a thousand."""
PATIENCE = 30.0
FOUND, NOT_AUDITED = 1, 3


class Package(NamedTuple):
    """An installed package."""

    name: str
    version: str


class NotAuditedError(Exception):
    """The database could not be asked, or did not answer what was asked."""


def installed() -> list[Package]:
    """Everything that this interpreter can import from a package, but the project itself."""
    found = {Package(each.metadata["Name"], each.version) for each in distributions()}
    return sorted(each for each in found if each.name != "onlooker")


def advisories(packages: Sequence[Package], database: str) -> dict[Package, list[str]]:
    """The known holes of each package that has any."""
    found: dict[Package, list[str]] = {}
    for start in range(0, len(packages), AT_ONCE):
        some = packages[start : start + AT_ONCE]
        queries = [
            {"package": {"name": name, "ecosystem": "PyPI"}, "version": version}
            for name, version in some
        ]
        answers = _asked(database, {"queries": queries}).get("results")
        if not isinstance(answers, list) or len(answers) != len(some):
            raise NotAuditedError("the database did not answer for every package")
        for package, answer in zip(some, answers, strict=True):
            try:
                holes = [str(hole["id"]) for hole in answer.get("vulns", [])]
            except (AttributeError, KeyError, TypeError):
                raise NotAuditedError(f"the answer about {package.name} makes no sense") from None
            if holes:
                found[package] = holes
    return found


def _asked(database: str, question: dict[str, Any]) -> dict[str, Any]:
    request = Request(database, json.dumps(question).encode(), {"Content-Type": "application/json"})
    try:
        with urlopen(request, timeout=PATIENCE) as answer:
            found = json.load(answer)
    except URLError as error:
        raise NotAuditedError(f"{database} cannot be reached: {error.reason}") from None
    except (OSError, HTTPException, ValueError) as error:
        raise NotAuditedError(f"{database} gave no answer: {error}") from None
    if not isinstance(found, dict):
        raise NotAuditedError(f"{database} gave another answer than expected")
    return found


def main() -> int:
    """Audit, and say what was found, or that nothing was."""
    parser = argparse.ArgumentParser(
        prog="scripts/soak dependencies", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--database", default=DATABASE, metavar="URL", help=DATABASE)
    packages = installed()
    try:
        found = advisories(packages, parser.parse_args().database)
    except NotAuditedError as error:
        print(f"NOT AUDITED: {error}; {len(packages)} packages are unchecked", file=sys.stderr)
        return NOT_AUDITED
    for package, holes in found.items():
        print(f"{package.name} {package.version}: {', '.join(holes)}")
    print(f"{len(packages)} packages audited, {len(found)} with known holes")
    return FOUND if found else 0


if __name__ == "__main__":
    sys.exit(main())
