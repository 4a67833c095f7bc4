"""Sixty clients and two cameras for a few seconds: nobody gets an error, and nothing is said.

The five minutes, and what they take in memory, are `scripts/bench service`.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "service.py"
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
ROUTES = {
    "GET /people",
    "GET /strangers",
    "GET /events",
    "GET /health",
    "POST /recognize",
    "POST /explain",
}
STREAMS = {"GET /live/{camera}.mjpeg", "WebSocket /live", "GET /events/stream"}


@pytest.mark.slow
def test_nobody_gets_an_error_while_many_read_and_some_upload(tmp_path):
    out = tmp_path / "service.json"
    small = ("--frames", 48, "--minutes", 0.1, "--warm-up", 2, "--json", out)
    run = subprocess.run(
        [sys.executable, BENCHMARK, *map(str, small)],
        capture_output=True,
        text=True,
        check=False,
        env={
            **os.environ,
            **dict.fromkeys(THREADS, "1"),  # or it would start twice
            "XDG_CACHE_HOME": str(tmp_path),
        },
    )
    assert out.exists(), run.stderr
    result = json.loads(out.read_text(encoding="utf-8"))
    assert result["errors"] == {}
    assert result["warnings"] == 0, run.stderr
    assert result["exit_code"] == 130  # ended by a signal, in order
    assert result["requests"] == sum(one["count"] for one in result["ms"].values()) > 60
    assert set(result["ms"]) >= ROUTES
    assert all(result["pieces"][stream] > 0 for stream in STREAMS), result["pieces"]
    assert {camera["state"] for camera in result["cameras"]} == {"live"}
    assert all(one["p50"] <= one["p95"] <= one["p99"] for one in result["ms"].values())
