"""Running a command of `onlooker` in this process, and reading what it printed."""

import json

from typer.testing import CliRunner

from onlooker.cli.app import app


def onlooker(*arguments):
    """The result of a command: exit code, stdout and stderr."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def rows(result):
    """The JSON rows of a command that succeeded."""
    assert result.exit_code == 0, result.output
    return [json.loads(row) for row in result.stdout.splitlines()]


def error_of(result, code=1):
    """The one line on stderr of a command that failed, and printed nothing else."""
    assert result.exit_code == code, result.output
    (text,) = result.stderr.splitlines()
    assert result.stdout == ""
    return text
