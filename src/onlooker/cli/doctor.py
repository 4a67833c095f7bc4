"""`onlooker doctor`: what is installed, what is missing, and which settings are in force."""

import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from glob import glob
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import onlooker
from onlooker.cli.homes import ServedHomeOption
from onlooker.cli.output import one_line
from onlooker.cli.settings import Settings, example_file, load_settings, settings_file
from onlooker.core.errors import OnlookerError, install_command
from onlooker.home.reopen import is_home
from onlooker.vision.models import SFACE_INT8, YUNET, cache_folder, find_model, installed
from onlooker.vision.scales import new_scale, trust_radius

PACKAGES = {
    "numpy": ("numpy", ""),
    "scipy": ("scipy", ""),
    "opencv": ("opencv-python-headless", "faces"),
    "av": ("av", "faces"),
    "pillow": ("pillow", "faces"),
    "pi-heif": ("pi-heif", "heic"),
    "fastapi": ("fastapi", "web"),
    "uvicorn": ("uvicorn", "web"),
    "websockets": ("websockets", "web"),
    "paho-mqtt": ("paho-mqtt", "mqtt"),
    "ray": ("ray", "cluster"),
    "onnxruntime": ("onnxruntime", "embedding"),
}
"""The package of each, and the extra that installs it."""
OPTIONAL = {
    "heic": "for photos of iPhones (HEIC)",
    "web": "for onlooker serve",
    "mqtt": "for alerts over MQTT",
    "cluster": "for onlooker cluster",
    "embedding": "for --features embedding",
}
"""What those extras are for; the others are needed."""
HOME_FILES = {
    "onlooker.db": "everything that was learned, pictures, sightings, history",
    "onlooker.db-*": "part of it while it is open",
    "snapshots": "the learner at some moments: a quick start, and undo",
    "ballast": "space reserved so that forgetting works on a full disk; no data",
    "lock": "who has the home open",
    "token.json": "the token of programs, as a hash",
    "sessions.json": "who is signed in at the page",
    "login": "links to sign in that were not used yet",
    "*.damaged-*": "a damaged database as it was found; delete it when nothing is missed",
    "before-version-*": "the home before an upgrade; deleted after the undo horizon",
    "README.txt": "this list, in short",
}
"""What is in the folder of a home."""
PIXELS = ("size", "min_size")
"""Settings in pixels: of the picture in which faces are looked for, and of the smallest face."""
THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check: ok, missing (something still works), or MISSING (needed)."""

    subject: str
    text: str
    missing: bool = False
    """Whether something is not there."""
    needed: bool = True
    """Whether it has to be."""

    @property
    def mark(self) -> str:
        """The word in front of it."""
        return "ok" if not self.missing else "MISSING" if self.needed else "missing"


def doctor(
    example_settings: Annotated[
        bool, typer.Option("--example-settings", help="Print a commented settings file instead.")
    ] = False,
    home: ServedHomeOption = None,
) -> None:
    """Report what is installed, missing and set; exit code 1 if something needed is missing.

    MISSING is needed, missing is not unless you want what it is for; both say how to get it. With a
    home, what its files are.

    Example: onlooker doctor

    Example: onlooker doctor --home home/

    Example: onlooker doctor --example-settings > onlooker.toml
    """
    if example_settings:
        print(example_file(), end="")
        return
    chosen = load_settings(home=home)
    findings = [*_versions(chosen), *_threads(), *_models(chosen), _cameras(), *_settings(chosen)]
    findings += _home_files(chosen["home"])
    for finding in findings:
        print(f"{finding.mark:7}  {finding.subject:15}  {one_line(finding.text)}")
    if any(finding.missing and finding.needed for finding in findings):
        raise typer.Exit(1)


def _versions(chosen: Settings) -> Iterator[Finding]:
    yield Finding("onlooker", onlooker.__version__)
    yield Finding("python", f"{platform.python_version()} on {platform.platform()}")
    for name, (package, extra) in PACKAGES.items():
        try:
            yield Finding(name, version(package))
        except PackageNotFoundError:
            needed = extra not in OPTIONAL or (
                extra == "embedding" and chosen["features"] == "embedding"
            )
            purpose = f", needed {OPTIONAL[extra]}" if extra in OPTIONAL else ""
            text = f"not installed{purpose}: {install_command(extra)}"
            yield Finding(name, text, missing=not _imported(name), needed=needed)


def _imported(name: str) -> bool:
    """OpenCV has several package names; what counts is whether it can be imported."""
    return name == "opencv" and "cv2" in sys.modules


def _threads() -> Iterator[Finding]:
    config: Any = np.show_config(mode="dicts")
    blas = config.get("Build Dependencies", {}).get("blas", {}).get("name", "unknown")
    limits = [f"{name}={os.environ[name]}" for name in THREADS if name in os.environ]
    text = ", ".join(limits) or f"no limit set; {os.cpu_count()} processors"
    yield Finding("BLAS threads", f"{blas}: {text}")


def _models(chosen: Settings) -> Iterator[Finding]:
    for subject, model, needed in (
        ("detector file", YUNET, chosen["detector"] == "yunet"),
        ("SFace file", SFACE_INT8, chosen["features"] == "sface"),
    ):
        try:
            model.read()
            yield Finding(subject, f"{Path(model.file).name}, checksum correct")
        except OnlookerError as error:
            yield Finding(subject, str(error), missing=True, needed=needed)
    listed = ", ".join(f"{name} ({path})" for name, path in installed().items())
    yield Finding("models", listed or f"none downloaded into {cache_folder()}")
    if chosen["features"] == "embedding":
        try:
            yield Finding("embedding file", str(find_model(chosen["model"])))
        except OnlookerError as error:
            yield Finding("embedding file", str(error), missing=True)


def _cameras() -> Finding:
    """Names and permissions only: opening a camera can block forever."""
    if not sys.platform.startswith("linux"):
        return Finding("cameras", "this system does not list them; try `onlooker watch 0`")
    found = {path: os.access(path, os.R_OK | os.W_OK) for path in sorted(glob("/dev/video*"))}
    if not found:
        text = "none on this machine: plug one in; files and addresses work without"
        return Finding("cameras", text, missing=True, needed=False)
    if not any(found.values()):
        text = f"no permission for {', '.join(found)}: join the group video"
        return Finding("cameras", text, missing=True, needed=False)
    return Finding("cameras", ", ".join(path for path, allowed in found.items() if allowed))


def _home_files(home: str | None) -> Iterator[Finding]:
    """What is in a home, by file."""
    if home is None:
        return
    folder = Path(home)
    if not is_home(folder):
        text = f"{folder} is not a home: onlooker serve --home {folder} makes one"
        yield Finding("home files", text, missing=True, needed=False)
        return
    for pattern, purpose in HOME_FILES.items():
        for path in sorted(folder.glob(pattern)):
            files = [path] if path.is_file() else list(path.rglob("*"))
            size = sum(each.stat().st_size for each in files if each.is_file())
            shown = f"{size / 1e6:.1f} MB" if size > 5e4 else "less than 0.1 MB"
            yield Finding(path.name, f"{shown}, {purpose}")


def _settings(chosen: Settings) -> Iterator[Finding]:
    path = settings_file(os.environ)
    yield Finding("settings file", str(path or "none; see onlooker doctor --example-settings"))
    kind = chosen["features"]
    radius = trust_radius(chosen["trust_radius"], kind)
    scale = new_scale(kind, radius)._asdict()
    for key, value in chosen.values.items():
        shown, origin = "none" if value is None else value, chosen.origins[key]
        if value is None and key in scale:
            shown, origin = scale[key], f"default of {kind}"
        if key == "trust_radius" and value in (None, "auto"):
            shown = f"{'off' if radius is None else radius} for {kind}"
        if key in PIXELS:
            shown = "as the features want" if value is None else f"{value} pixels"
        yield Finding(key, f"{shown} ({origin})")
