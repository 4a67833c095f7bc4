"""The experiments behind the numbers. `digits` and `demo` are commands of their own; the others are
run by `onlooker reproduce`.

    python -m onlooker.experiments.digits --help

They use the library as a user would, and need `pip install "onlooker[experiments]"`.
"""
