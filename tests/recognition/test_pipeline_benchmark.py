"""The benchmark of the whole pipeline runs, and its figures agree with each other."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "pipeline.py"


THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def bench(*arguments):
    """In a process of its own, which is pinned to one core."""
    command = [sys.executable, BENCHMARK, *map(str, arguments)]
    environment = {**os.environ, **dict.fromkeys(THREADS, "1")}  # or it would start twice
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_the_stages_add_up_and_the_learner_is_full(tmp_path):
    out = tmp_path / "pipeline.json"
    small = ("--fill", 40, "--frames", 20, "--rounds", 1, "--vertices", 2)
    run = bench(*small, "--json", out)
    assert run.returncode == 0, run.stderr
    result = json.loads(out.read_text(encoding="utf-8"))
    assert result["unlabeled_vertices"] == 2
    assert sum(result["stage_share"].values()) == pytest.approx(1.0)
    assert all(share > 0 for share in result["stage_share"].values())
    assert result["over_detect"]["detect"] == 1.0
    assert 0 <= result["learned_share"] <= 1
    for name, ms in result["ms"].items():
        assert result["fps"][name] == pytest.approx(1e3 / ms)
    assert "everything, JSON Lines" in run.stdout
