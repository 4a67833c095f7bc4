"""The experiments behind the numbers: each module is a command, run with `python -m`.

    python -m onlooker.experiments.digits --help

They use the library as a user would, and need `pip install "onlooker[experiments]"`.
"""
