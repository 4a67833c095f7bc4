# shellcheck shell=bash
# The one bootstrap behind scripts/*, sourced by each of them:
#
#   . "$(dirname "${BASH_SOURCE[0]}")/_bootstrap.sh"
#   usage_if_asked "$@"     -h or --help prints the script's header comment
#   ensure dev              .venv exists and holds onlooker[dev]; $PYTHON is its interpreter
#   one_blas_thread         only where a script wants it
#
# uv makes the environment when it is there, otherwise venv and pip do. uv does not read pip's
# configuration, so whatever uv cannot do is tried again the plain way.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)"
VENV="$ROOT/.venv"
PYTHON="$VENV/bin/python"

say() { printf '%s\n' "onlooker: $*" >&2; }

fail() {
    say "$@"
    exit 1
}

usage_if_asked() {
    case "${1:-}" in
    -h | --help)
        sed -n -e '1d' -e '/^#/!q' -e 's/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    esac
}

one_blas_thread() {
    export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 VECLIB_MAXIMUM_THREADS=1
}

have_uv() { command -v uv >/dev/null 2>&1; }

# True when the interpreter $1 runs, is new enough and can import the modules that follow.
# Running it is the only honest question: a pyenv shim exists for versions it cannot start.
usable() {
    "$1" -c '
import sys
if sys.version_info < (3, 11):
    sys.exit(1)
for name in sys.argv[1:]:
    __import__(name)
' "${@:2}" >/dev/null 2>&1
}

find_python() {
    local candidate
    for candidate in python3 python3.13 python3.12 python3.11; do
        # venv without ensurepip (some Linux distributions) makes an environment without pip.
        if usable "$candidate" venv ensurepip || { have_uv && usable "$candidate"; }; then
            "$candidate" -c 'import sys; print(sys.executable)'  # past the shim
            return
        fi
    done
    fail "needs Python 3.11 or newer with the venv module, and found none among" \
        "python3, python3.13, python3.12 and python3.11: please install one and run this again."
}

make_venv() {
    local base
    base="$(find_python)"
    say "making .venv with $("$base" -c 'import platform; print("Python", platform.python_version())')"
    if have_uv && uv venv --quiet --clear --python "$base" "$VENV" 2>/dev/null; then
        return
    fi
    "$base" -m venv --clear "$VENV" || fail "could not make $VENV with $base."
}

install() {
    if have_uv && uv pip install --quiet --python "$PYTHON" --editable "$1" 2>/dev/null; then
        return
    fi
    if ! "$PYTHON" -m pip --version >/dev/null 2>&1; then
        "$PYTHON" -m ensurepip >/dev/null || fail "$VENV has no pip and cannot get one."
    fi
    "$PYTHON" -m pip install --quiet --disable-pip-version-check --no-input --editable "$1" ||
        fail "could not install $1: see the lines above."
}

# What an installation depends on: the project file, the extras, the interpreter and the place.
fingerprint() {
    "$PYTHON" -c '
import hashlib, pathlib, sys
facts = [pathlib.Path(sys.argv[1], "pyproject.toml").read_text(encoding="utf-8"), sys.version]
print(hashlib.sha256("\0".join(facts + sys.argv[1:]).encode()).hexdigest())
' "$ROOT" "$1"
}

ensure() {
    local extras stamp wanted
    extras="$(IFS=, && printf '%s' "$*")"
    usable "$PYTHON" || make_venv
    stamp="$VENV/.onlooker-$extras"
    wanted="$(fingerprint "$extras")"
    if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then
        return
    fi
    say "installing onlooker[$extras] into .venv (only when something changed)"
    install "${ROOT}[$extras]"
    printf '%s\n' "$wanted" >"$stamp"
}
