"""`onlooker models`: listing, downloading once, verifying."""

import hashlib
import json
import threading
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

from helpers.commands import error_of, onlooker
from onlooker.vision.models import SFACE


def test_models_are_listed_and_a_damaged_one_is_found(tmp_path):
    (row,) = [json.loads(row) for row in onlooker("models", "list").stdout.splitlines()]
    assert (row["name"], row["file"]) == ("sface", None)
    cached = tmp_path / "cache" / "onlooker" / "models" / SFACE.file
    cached.parent.mkdir(parents=True)
    cached.write_bytes(b"not a model")
    assert "SHA-256" in error_of(onlooker("models", "verify"))
    assert "SHA-256" in error_of(onlooker("models", "verify", cached))


def test_a_model_is_fetched_once_and_verified(tmp_path, monkeypatch):
    content = b"pretend to be a network" * 1000
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "tiny.onnx").write_bytes(content)
    handler = partial(QuietHandler, directory=tmp_path / "served")
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        tiny = replace(
            SFACE,
            name="tiny",
            address=f"http://127.0.0.1:{server.server_port}/tiny.onnx",
            bytes=len(content),
            sha256=hashlib.sha256(content).hexdigest(),
        )
        monkeypatch.setattr("onlooker.vision.models.REGISTRY", (tiny,))
        monkeypatch.setattr("onlooker.cli.models.REGISTRY", (tiny,))
        first = onlooker("models", "get", "tiny")
        server.shutdown()
    assert first.exit_code == 0, first.output
    path = tmp_path / "cache" / "onlooker" / "models" / "tiny.onnx"
    assert json.loads(first.stdout) == {"name": "tiny", "file": str(path)}
    assert onlooker("models", "get", "tiny").exit_code == 0  # nobody serves it any more
    assert json.loads(onlooker("models", "list").stdout)["file"] == str(path)
    assert json.loads(onlooker("models", "verify").stdout)["ok"] is True


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass
