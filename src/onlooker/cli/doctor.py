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
from onlooker.cli.output import one_line
from onlooker.cli.settings import Settings, example_file, load_settings, settings_file
from onlooker.core.errors import OnlookerError
from onlooker.vision.models import SFACE_INT8, YUNET, cache_folder, find_model, installed
from onlooker.vision.scales import DEFAULT_SCALES, TRUST_RADII

PACKAGES = {
    "numpy": "numpy",
    "scipy": "scipy",
    "opencv": "opencv-python-headless",
    "av": "av",
    "onnxruntime": "onnxruntime",
}
THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check; missing means that something needed is not there."""

    subject: str
    text: str
    missing: bool = False


def doctor(
    example_settings: Annotated[
        bool, typer.Option("--example-settings", help="Print a commented settings file instead.")
    ] = False,
) -> None:
    """Report what is installed, missing and set; exit code 1 if something needed is missing.

    Example: onlooker doctor

    Example: onlooker doctor --example-settings > onlooker.toml
    """
    if example_settings:
        print(example_file(), end="")
        return
    chosen = load_settings()
    findings = [*_versions(chosen), *_threads(), *_models(chosen), _cameras(), *_settings(chosen)]
    for finding in findings:
        mark = "MISSING" if finding.missing else "ok"
        print(f"{mark:7}  {finding.subject:14}  {one_line(finding.text)}")
    if any(finding.missing for finding in findings):
        raise typer.Exit(1)


def _versions(chosen: Settings) -> Iterator[Finding]:
    yield Finding("onlooker", onlooker.__version__)
    yield Finding("python", f"{platform.python_version()} on {platform.platform()}")
    for name, package in PACKAGES.items():
        optional = name == "onnxruntime" and chosen["features"] != "embedding"
        try:
            yield Finding(name, version(package))
        except PackageNotFoundError:
            extra = "embedding" if name == "onnxruntime" else "faces"
            text = f'not installed: pip install "onlooker[{extra}]"'
            yield Finding(name, text, missing=not optional and not _imported(name))


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
            yield Finding(subject, str(error), missing=needed)
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
    found = [
        path if os.access(path, os.R_OK | os.W_OK) else f"{path} (no permission)"
        for path in sorted(glob("/dev/video*"))
    ]
    return Finding(
        "cameras", ", ".join(found) or "none on this machine; files and addresses work without one"
    )


def _settings(chosen: Settings) -> Iterator[Finding]:
    path = settings_file(os.environ)
    yield Finding("settings file", str(path or "none; see onlooker doctor --example-settings"))
    scale = DEFAULT_SCALES[chosen["features"]]._asdict()
    for key, value in chosen.values.items():
        shown, origin = "-" if value is None else value, chosen.origins[key]
        if value is None and key in scale:
            shown, origin = scale[key], f"default of {chosen['features']}"
        if key == "trust_radius" and value == "auto":
            shown = f"auto, {TRUST_RADII[chosen['features']] or 'off'} for {chosen['features']}"
        yield Finding(key, f"{shown} ({origin})")
