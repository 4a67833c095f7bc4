"""What is parsed before it is trusted: a target for each parser, with examples and a law.

The law of all is in `test_fuzz.py`; here is what each promises besides: where two readers exist
they agree, and what is written again is read again as the same.
"""

import atexit
import csv
import faulthandler
import hashlib
import importlib
import io
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from urllib.parse import urlsplit

import numpy as np
import pytest
from PIL import Image

from helpers.homes import png, small_learner, stream
from helpers.killing import scratch
from helpers.photos import heic_file
from helpers.recordings import write_video
from onlooker.alerts import mqtt
from onlooker.cli import settings as cli_settings
from onlooker.cluster.codec import decode_answer, decode_batch, encode_answer, encode_batch
from onlooker.cluster.config import read_config
from onlooker.cluster.messages import BatchAnswer, ClusterError, ExampleAnswer, NumberedExample
from onlooker.core import snapshot
from onlooker.core.errors import BadValue, OnlookerError, SnapshotError
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.records import Prediction
from onlooker.experiments.datasets.manifest import read_dataset
from onlooker.home import transfer
from onlooker.home.events import digest
from onlooker.home.wal import WriteAheadLog
from onlooker.video import image_files
from onlooker.video.addresses import SourceError, addresses_of
from onlooker.video.decoding import open_source
from onlooker.video.image_files import (
    MAX_PIXELS,
    PictureError,
    decode_picture,
    is_picture,
    read_picture,
)
from onlooker.vision.models import ModelError, read_recipe

MOST_PIXELS = 200_000
SECRET = "hunter2"


@dataclass(frozen=True)
class Target:
    """One parser: its examples, its law, and how a changed input is made plausible again."""

    examples: Callable[[], list[bytes]]
    law: Callable[[bytes], object]
    """Returns what was parsed; raises one of the errors, or breaks the law."""
    errors: tuple[type[OnlookerError], ...]
    words: tuple[bytes, ...] = ()
    """What an input may be changed to contain."""
    mend: Callable[[bytes], bytes] = bytes
    """Checksums made right: without it nothing behind them is ever reached."""


NUMBERS = (
    *tuple(
        b"0 -1 1 2 255 256 65535 2147483647 4294967296 9223372036854775807 9223372036854775808 "
        b"1e308 1e999 -0.0 NaN Infinity 0.5 1e-320".split()
    ),
    b"9" * 400,
    b"1" * 5000,
)
JSON_WORDS = (
    *NUMBERS,
    b"null", b"true", b"[]", b"{}", b'""', b'"a"', b'"\\ud800"', b'"\\u0000"', b"[" * 3000,
    b'{"a":',
)  # fmt: skip


@cache
def work_folder():
    """A folder of this process, removed at its end."""
    folder = scratch()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def written(name, data):
    """A file with this content."""
    path = work_folder() / name
    path.write_bytes(data)
    return path


# ---- pictures


def pictures():
    rng = np.random.default_rng(1)
    colours = Image.fromarray(rng.integers(0, 255, (9, 14, 3), np.uint8))
    found = []
    for kind, image, options in [
        ("PNG", colours, {}),
        ("PNG", colours.convert("P"), {}),
        ("PNG", colours.convert("RGBA"), {}),
        ("JPEG", colours, {}),
        ("JPEG", colours, {"progressive": True, "exif": _exif(6)}),
        ("BMP", colours, {}),
        ("WEBP", colours, {}),
        ("WEBP", colours, {"lossless": True}),
        ("WEBP", colours, {"exif": _exif(3)}),
        ("PPM", colours, {}),
        ("PPM", colours.convert("L"), {}),
        ("PNG", Image.fromarray(rng.integers(0, 65535, (5, 6)).astype(np.uint16)), {}),
    ]:
        file = io.BytesIO()
        image.save(file, kind, **options)
        found.append(file.getvalue())
    return [*found, b"P3 2 1 9 1 2 3 4 5 6", b"P1 3 2 101010"]


def _exif(orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif.tobytes()


def picture_law(data):
    pixels = decode_picture(data, max_pixels=MOST_PIXELS)
    assert pixels.dtype == np.uint8
    assert pixels.ndim == 3
    assert pixels.shape[2] == 3
    assert pixels.shape[0] * pixels.shape[1] <= MOST_PIXELS, "more pixels than the check allowed"
    assert is_picture(data), "decoded what is no picture"
    with Image.open(io.BytesIO(data), formats=("PNG", "JPEG", "BMP", "WEBP", "PPM")) as header:
        assert sorted(header.size) == sorted(pixels.shape[:2]), "another size than its header says"
    return pixels


def picture_file_law(data):
    path = written("picture", data)
    try:
        pixels = read_picture(path, max_pixels=MOST_PIXELS)
    except PictureError:
        with pytest.raises(PictureError):
            decode_picture(data, max_pixels=MOST_PIXELS)
        raise
    assert np.array_equal(pixels, decode_picture(data, max_pixels=MOST_PIXELS))
    return pixels


def heic_photos():
    rng = np.random.default_rng(2)
    pixels = rng.integers(0, 255, (24, 40, 3), np.uint8)
    return [
        heic_file(pixels),
        heic_file(pixels[:16, :16], exif=_exif(6)),
        heic_file(np.full((64, 64, 3), 90, np.uint8)),
    ]


def heic_law(data):
    """As of other pictures. The decoder is that of the service, in a forked process each time.

    A new interpreter takes a third of a second, of which nothing is of interest here.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(image_files.subprocess, "run", _forked)
        pixels = decode_picture(data, max_pixels=MOST_PIXELS)
    assert pixels.dtype == np.uint8
    assert pixels.ndim == 3
    assert pixels.shape[0] * pixels.shape[1] <= MOST_PIXELS, "more pixels than the check allowed"
    return pixels


def _forked(command, *, input, capture_output, timeout):
    """What `subprocess.run` of a Python program gives, from a fork of this process."""
    importlib.import_module("pi_heif.as_plugin")  # before the fork: it is what takes time
    *_, program, limit = command
    files = [os.memfd_create(name) for name in ("stdin", "stdout")]
    os.write(files[0], input)
    os.lseek(files[0], 0, os.SEEK_SET)
    child = os.fork()
    if child == 0:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0)
            faulthandler.disable()  # a crash of the decoder is expected, and says nothing
            sys.argv = ["-c", limit]
            sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(files[0], "rb")))
            sys.stdout = io.TextIOWrapper(io.BufferedWriter(io.FileIO(files[1], "wb")))
            exec(program, {})
            sys.stdout.flush()
            os._exit(0)
        except BaseException:
            os._exit(1)
    try:
        status = os.waitpid(child, 0)[1]
        child = 0
    finally:
        if child:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        with open(files[1], "rb") as out:
            out.seek(0)
            stdout = out.read()
        os.close(files[0])
    return subprocess.CompletedProcess(command, os.waitstatus_to_exitcode(status), stdout, b"")


# ---- snapshots and exports


def learner_of_two(count=40):
    learner = small_learner()
    for number, (x, name) in enumerate(stream(3, count)):
        if number < 4:
            learner.teach(x, name)
        else:
            learner.observe(x)
    return learner


def snapshots():
    saved = io.BytesIO()
    learner_of_two().save(saved)
    others = []
    for header, arrays in [
        ({}, {}),
        ({"a": [1, {"b": None}]}, {"x": np.array(2.5), "y": np.zeros((2, 0, 3), np.int32)}),
        ({"a": "\u00e9"}, {"flags": np.array([True, False]), "raw": np.arange(70, dtype=np.uint8)}),
    ]:
        file = io.BytesIO()
        snapshot.write(file, header, arrays)
        others.append(file.getvalue())
    return [saved.getvalue(), *others]


def signed(data):
    """The same with the length of its header and its SHA-256 right."""
    first, _, rest = data.partition(b"\n")
    _, _, rest = rest.partition(b"\n")
    length_row, _, body = rest.partition(b"\n")
    end = body.find(b"\n]\n}")
    if end >= 0 and length_row.startswith(b"header "):
        header, raw = body[: end + 4].rstrip(), body[end + 4 :].lstrip(b" \n")
        before = len(first) + 1 + 72 + len("header 00000000 bytes\n")
        length = -(-(before + len(header) + 1) // 64) * 64 - before
        body = header.ljust(length - 1) + b"\n" + raw
        length_row = f"header {length:08d} bytes".encode()
    rest = length_row + b"\n" + body
    return first + b"\nsha256 " + hashlib.sha256(rest).hexdigest().encode() + b"\n" + rest


def literally(data):
    """Header and arrays of a snapshot, read as its description says."""
    _, digest_line, length_line, rest = data.split(b"\n", 3)
    signed_part = data[data.index(digest_line) + len(digest_line) + 1 :]
    assert digest_line.split()[1].decode() == hashlib.sha256(signed_part).hexdigest()
    size = int(length_line.split()[1])
    document = json.loads(rest[:size].decode("utf-8", "surrogatepass"))
    arrays = {}
    for entry in document["arrays"]:
        kind, shape = np.dtype(entry["dtype"]), tuple(entry["shape"])
        start = size + entry["offset"]
        raw = rest[start : start + kind.itemsize * int(np.prod(shape, dtype=object))]
        arrays[entry["name"]] = np.frombuffer(raw, kind).reshape(shape)
    return document["header"], arrays


def snapshot_law(data):
    """What is read is what stands there; a learner that is accepted can be asked and saved."""
    found = snapshot.read(io.BytesIO(data))
    header, arrays = literally(data)
    assert found.header == header
    assert found.arrays.keys() == arrays.keys()
    assert all(_same(found.arrays[name], arrays[name]) for name in arrays)
    again = io.BytesIO()
    snapshot.write(again, found.header, found.arrays)
    assert literally(again.getvalue())[0] == header
    learner = OnlineHarmonicLearner.load(io.BytesIO(data))
    return learner_law(learner)


def _same(one, two):
    return one.shape == two.shape and one.tobytes() == two.tobytes()


def learner_law(learner):
    if len(learner) and learner.vertices().vectors.shape[1] == 8:
        learner.predict(np.zeros(8))
    saved = io.BytesIO()
    learner.save(saved)
    assert digest(OnlineHarmonicLearner.load(saved)) == digest(learner)
    return learner


def snapshot_file_law(data):
    path = written("snapshot", data)
    found, in_memory = snapshot.read(path), snapshot.read(io.BytesIO(data))
    assert found.header == in_memory.header
    return OnlineHarmonicLearner.load(path)


def exports():
    learner = learner_of_two(25)
    ids = learner.vertices().ids[:2].tolist()
    whole = transfer.Export(learner, {vertex: png(vertex) for vertex in ids})
    return [transfer.to_bytes(whole), transfer.to_bytes(transfer.Export(small_learner(), {}))]


def archived(data):
    """An archive of what can still be read, whose manifest and checksums are right."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = {entry.filename: _part(archive, entry) for entry in archive.infolist()}
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, RuntimeError):
        return data
    parts = {name: signed(part) if "snapshot" in name else part for name, part in parts.items()}
    try:
        manifest = json.loads(parts.pop(transfer.MANIFEST, b"{}"))
        sums = {name: hashlib.sha256(part).hexdigest() for name, part in parts.items()}
        text = json.dumps({**manifest, "files": sums}).encode()
    except (ValueError, TypeError, RecursionError):
        return data
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, part in {transfer.MANIFEST: text, **parts}.items():
            archive.writestr(zipfile.ZipInfo(name or "empty"), part)
    return file.getvalue()


def _part(archive, entry):
    """The bytes of an entry, whatever its checksum says."""
    start = entry.header_offset + 30 + len(entry.orig_filename.encode())
    archive.fp.seek(start)
    return archive.fp.read(min(entry.file_size, 1 << 20))


def export_law(data):
    found = transfer.read(written("export", data))
    again = transfer.read(written("again", transfer.to_bytes(found)))
    assert digest(again.learner) == digest(found.learner)
    assert again.pictures == found.pictures
    return found


# ---- films


@cache
def films():
    path = work_folder() / "example.mp4"
    write_video(path, [80] * 5)
    return [path.read_bytes()]


def film_law(data):
    """Whatever its tables say, a film is opened and its first frame read, or it is refused."""
    (address,) = addresses_of([str(written("film.mp4", data))])
    with open_source(address, timeout=LONG_ENOUGH, max_pixels=MAX_PIXELS) as opened:
        return next(opened.raw_frames, None)


# ---- tables and TOML


def manifests():
    folder = work_folder() / "dataset"
    folder.mkdir(exist_ok=True)
    for name in ("a.png", "b.png", "c d.png"):
        (folder / name).write_bytes(png())
    rows = (
        "set,camera,person,frame,path,condition\nday,door,ana,1,a.png,dark\nday,door,,02,b.png,\n"
    )
    return [
        rows.encode(),
        b'\xef\xbb\xbfset,camera,person,frame,path\r\n"day",,,7,"c d.png"\r\n',
        b"set,camera,person,frame,path\ncrowd,,,0,a.png\ncrowd,,,1,./b.png\n",
    ]


def manifest_law(data):
    folder = work_folder() / "dataset"
    (folder / "manifest.csv").write_bytes(data)
    found = read_dataset(folder)
    text = io.StringIO()
    table = csv.writer(text)
    table.writerow(["set", "camera", "person", "frame", "path", "condition"])
    for each in found.pictures:
        path = each.path.relative_to(folder)
        table.writerow([each.set, each.camera, each.person, each.frame, path, each.condition])
    (folder / "manifest.csv").write_text(text.getvalue(), encoding="utf-8")
    assert read_dataset(folder).pictures == found.pictures
    return found


def configs():
    return [
        b'folder = "cluster"\nfeatures = "pixels"\n[sites.north.cameras]\ndoor = "rtsp://ana:'
        + SECRET.encode()
        + b'@10.0.0.5/1"\nyard = { source = "0", node = "10.0.0.7" }\n[sites.south]\n',
        b'vertices = 20\nbandwidth = 0.3\ncutoff = 1e-5\ntrust_radius = "auto"\nsite_cpus = 0.5\n'
        b'people = "faces"\nnames_every = 2\n[sites.a]\ndetector = "haar"\n[sites.a.cameras]\n'
        b"x = 1\n",
    ]


def config_law(data):
    found = read_config(written("cluster.toml", data))
    assert found == read_config(written("cluster.toml", data))
    return found


def recipes():
    return [
        b'name = "m"\ninput = "data"\nsize = [112, 112]\ncolour = "rgb"\nscale = 0.0078125\n'
        b"mean = [0, 0.5, 0]\nstd = [1, 1, 1.5]\nalignment = 'arcface-112'\ndimensions = 128\n"
        b'licence = "MIT"\n'
    ]


def recipe_law(data):
    found = read_recipe(written("model.toml", data))
    lines = []
    for name in type(found).__dataclass_fields__:
        value = getattr(found, name)
        text = json.dumps(value) if isinstance(value, str) else _toml_number(value)
        lines.append(f"{name} = {text}")
    assert read_recipe(written("again.toml", "\n".join(lines).encode("utf-8"))) == found
    return found


def _toml_number(value):
    return f"[{', '.join(map(repr, value))}]" if isinstance(value, tuple) else repr(value)


def settings_files():
    return [
        cli_settings.example_file().replace("# ", "").encode(),
        b"vertices = 100\nport = 8123\nhome = 'x'\n",
    ]


def settings_law(data):
    return cli_settings._table(written("onlooker.toml", data))


TOML_WORDS = (
    *NUMBERS, b"[", b"]", b"[[", b"= 1\n", b'"""', b"1979-05-27", b"inf", b"nan", b"true", b"{}",
    b"[" * 2000, b"a." * 1000, b'"' + b"x" * 300 + b'"', b'"\\u0000"', b"sites.", b"\n[sites.b]\n",
)  # fmt: skip


# ---- the cluster's bytes


def batches():
    examples = [
        NumberedExample(7, np.arange(8, dtype=np.float32), "ana", 3, 1.5, png()),
        NumberedExample(8, np.zeros(8)),
    ]
    return [encode_batch("door", 1, examples, 6), encode_batch("d\u00e9", 2**40, [], 0)]


def batch_law(data):
    found = decode_batch(data)
    sender, session, examples, acknowledged = found
    again = decode_batch(encode_batch(sender, session, examples, acknowledged))
    assert (again[0], again[1], again[3]) == (sender, session, acknowledged)
    for one, two in zip(examples, again[2], strict=True):
        assert _same(one.vector, two.vector)
        assert one.vector.dtype == two.vector.dtype
        mine, theirs = (
            (each.number, each.name, each.frame, each.taken, each.picture) for each in (one, two)
        )
        assert mine == theirs
        assert one.vector.dtype.kind in "fu", f"a vector of {one.vector.dtype}"
        assert type(one.taken) in (int, float, type(None)), f"taken at {one.taken!r}"
    return found


def answers():
    prediction = Prediction("ana", {"ana": 0.7, "ben": 0.1}, sink=0.2, vertex=17)
    several = ExampleAnswer(7, prediction), ExampleAnswer(8, None, refused="too long")
    return [encode_answer(BatchAnswer(several, event=12)), encode_answer(BatchAnswer((), 0, 7))]


def answer_law(data):
    found = decode_answer(data)
    assert decode_answer(encode_answer(found)) == found
    assert type(found.event) is int
    for each in found.answers:
        assert type(each.number) is int
        assert each.prediction is None or all(
            type(score) in (int, float) for score in each.prediction.scores.values()
        )
    return found


# ---- addresses, MQTT, the write-ahead log


def addresses():
    return [
        f"door=rtsp://me:{SECRET}@10.0.0.5:554/1?x=2".encode(),
        b"http://[::1]:81/video", b"0", b"/dev/video0", b"simulated:V1", b"picture", b"data*",
        b"door=simulated:vo", b"rtsps://h/p#q", b"C:\\x", b"dataset", b"a=b=c",
    ]  # fmt: skip


def address_law(data):
    text = data.decode("utf-8", "surrogateescape")
    if re.match(r"([^=:/]*=)?(/|~|\.\.)", text) or "**" in text:
        text = text.replace("/", "_").replace("**", "*")  # stay in the folder
    (found,) = addresses_of([text])
    assert addresses_of([f"{found.camera}={found.target}"])[0].kind is found.kind or "=" in text
    assert "\n" not in found.shown
    assert found.camera
    source = text.partition("=")[2] if re.match(r"[^=:/\\*?\[]*=", text) else text
    if "://" in found.target:
        parts = urlsplit(source)
        public = f"{parts.hostname} {found.camera}"
        if SECRET in (parts.password or "") and SECRET not in public:
            assert SECRET not in found.shown + repr(found), "shows a password"
    return found


def brokers():
    return [b"mqtt://ana@10.0.0.5:1883/cams/a", b"mqtts://[::1]", b"mqtt://a%20b@h.example/%41"]


def broker_law(data):
    found = mqtt.Broker.at(data.decode("utf-8", "surrogateescape"))
    assert 0 < found.port < 65536
    assert found.host
    assert not set(found.prefix) & set("+# \n")
    assert str(found)
    return found


CONNECTED, CONFIRMED = b"\x20\x02\x00\x00", b"\x40\x02\x00\x01"


def packets():
    return [
        CONNECTED + CONFIRMED,
        CONNECTED,
        b"\x20\x02\x00\x05",
        b"\x30\x05\x00\x01ahi" + CONNECTED,
    ]


def packet_law(data):
    """A broker that answers so: it is connected and confirms, or is unavailable."""
    ours, theirs = socket.socketpair()
    theirs.sendall(data)
    theirs.shutdown(socket.SHUT_WR)
    with theirs, pytest.MonkeyPatch.context() as patch:
        patch.setattr(mqtt.Client, "_create_socket", lambda _: ours)
        with ours:
            found = mqtt.BrokerConnection(mqtt.Broker("h", 1), "c", ("t", "offline"), 0.2)
            found.publish("t", b"hi")
            found.close()
    return True


@cache
def logs():
    """A log that SQLite wrote."""
    import sqlite3  # of another process than the home's

    path = work_folder() / "log.db"
    with sqlite3.connect(path) as database:
        database.executescript("PRAGMA page_size=512; PRAGMA journal_mode=WAL; CREATE TABLE t (x)")
        for number in range(6):
            database.execute("INSERT INTO t VALUES (?)", (f"row {number}" * 9,))
            database.commit()
        found = path.with_name("log.db-wal").read_bytes()
    database.close()
    return [found[: 32 + 536 * frames] for frames in (3, 6)]


def log_law(data):
    """Whatever is wrong with a log, what is left of it is a log without fault."""
    found = WriteAheadLog(data, 512)
    for log in (found.before_damage(), found.without_damage()):
        assert len(log) <= max(len(data), 32)
        again = WriteAheadLog(log, 512)
        assert again.corrected == 0
        assert again.transactions_behind == 0
        assert again.before_damage() == log
    return found


HEAD_WORDS = (b"\xff\x01", b"\xff\xc0", b"\xff\xc2", b"IDAT", b"IHDR", b"VP8X", b"acTL", b"eXIf")
HEIC_WORDS = b"ispe", b"iloc", b"hvcC", b"irot", b"iprp", b"grid", b"\0\0\x7f\xff", b"\0\0\0\0"
LONG_ENOUGH = 10.0
FILM_WORDS = b"moov", b"moof", b"trun", b"stsz", b"stts", b"\0\x7f\xff\xff", b"\0\0\0\1"
KINDS = b'"<f8"', b'"<M8[D]"', b'"f8,f4"'
URL_WORDS = b"[", b"]", b"@", b"%", b"%00", b"*", b"?", b"+", b":99999"
CSV_WORDS = b'"', b",", b"\xc2\xb2", b"\0"
UNAVAILABLE = (mqtt.BrokerUnavailable,)
IN_MEMORY = {
    "pictures": Target(pictures, picture_law, (PictureError,), HEAD_WORDS),
    "snapshots": Target(snapshots, snapshot_law, (SnapshotError,), JSON_WORDS, signed),
    "batches": Target(batches, batch_law, (ClusterError,), (*JSON_WORDS, *KINDS)),
    "answers": Target(answers, answer_law, (ClusterError,), JSON_WORDS),
    "addresses": Target(addresses, address_law, (SourceError,), URL_WORDS),
    "brokers": Target(brokers, broker_law, (BadValue,), URL_WORDS),
    "logs": Target(logs, log_law, ()),
}
EXPORT_ERRORS = transfer.ExportError, BadValue
ON_FILES = {
    "films": Target(films, film_law, (SourceError,), FILM_WORDS),
    "heic": Target(heic_photos, heic_law, (PictureError,), HEIC_WORDS),
    "picture_files": Target(pictures, picture_file_law, (PictureError,), HEAD_WORDS),
    "snapshot_files": Target(snapshots, snapshot_file_law, (SnapshotError,), JSON_WORDS, signed),
    "exports": Target(exports, export_law, EXPORT_ERRORS, JSON_WORDS, archived),
    "manifests": Target(manifests, manifest_law, (BadValue,), CSV_WORDS),
    "configs": Target(configs, config_law, (BadValue,), TOML_WORDS),
    "recipes": Target(recipes, recipe_law, (ModelError,), TOML_WORDS),
    "settings": Target(settings_files, settings_law, (BadValue,), TOML_WORDS),
    "packets": Target(packets, packet_law, UNAVAILABLE, (CONNECTED, b"\xff\xff\xff\x7f")),
}
"""Slower: these open files, or a connection."""
TARGETS = IN_MEMORY | ON_FILES
