"""Download one file: whole, with the expected size and checksum, or not at all."""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException, HTTPMessage, HTTPResponse
from pathlib import Path
from typing import IO
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from onlooker.core.errors import OnlookerError
from onlooker.core.files import lock_file, move_into_place

Progress = Callable[[int, int], object]
"""Called with the number of bytes received and the number of bytes expected."""

CHUNK = 1 << 17
SILENCE = 30.0
"""Seconds without a byte after which a server counts as gone."""


class DownloadError(OnlookerError):
    """A file that did not arrive, or is not the expected one."""


def download(
    address: str, path: Path, *, size: int, sha256: str, progress: Progress | None = None
) -> None:
    """Download the file at an address to a path, resuming where an earlier call was cut off.

    What has arrived is in `path.part` and takes its name only after the checksum. Another call for
    the same file at the same time waits, and finds it there.
    """
    _refuse_unsafe(address)
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(path.with_name(path.name + ".lock")):
            if not is_file_with(path, size=size, sha256=sha256):
                _fill(part, address, size, progress)
                _refuse_wrong_checksum(part, address, sha256)
                move_into_place(part, path)
    except OSError as error:  # of the disk: those of the network are translated where they occur
        raise DownloadError(f"cannot write {path}: {error.strerror or error}") from error
    if progress:
        progress(size, size)


def is_file_with(path: Path, *, size: int, sha256: str) -> bool:
    """Whether a file is there, of this size and checksum."""
    return path.is_file() and path.stat().st_size == size and checksum(path) == sha256


def checksum(path: Path) -> str:
    """SHA-256 of a file, as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fill(part: Path, address: str, size: int, progress: Progress | None) -> None:
    """Download until the partial file has exactly `size` bytes."""
    received = part.stat().st_size if part.exists() else 0
    if received == size:
        return
    response, received = _resume(address, received if received < size else 0)
    with response:
        _refuse_other_length(response, address, received, size)
        with part.open("ab" if received else "wb") as file:
            for chunk in _chunks(response, address):
                received += len(chunk)
                if received > size:
                    break
                file.write(chunk)
                if progress:
                    progress(received, size)
            file.flush()
            os.fsync(file.fileno())
    if received > size:
        part.unlink()
        raise DownloadError(f"{address} sends more than the {size:,} bytes it should; not kept")
    if received < size:
        raise DownloadError(
            f"{address} broke off after {received:,} of {size:,} bytes; "
            "ask again to go on from there"
        )


def _resume(address: str, received: int) -> tuple[HTTPResponse, int]:
    """The server's response, and the byte it starts from: zero if it cannot resume."""
    if received:
        response = _request(address, received)
        if response.status == 200:
            return response, 0
        if response.headers.get("Content-Range", "").startswith(f"bytes {received}-"):
            return response, received
        response.close()
    return _request(address, 0), 0


def _request(address: str, start: int) -> HTTPResponse:
    request = Request(address, headers={"User-Agent": "onlooker"})
    if start:
        request.add_header("Range", f"bytes={start}-")
    try:
        response: HTTPResponse = build_opener(_SameScheme).open(request, timeout=SILENCE)
    except HTTPError as error:
        error.close()
        if error.code == 416 and start:  # there is nothing to resume
            return _request(address, 0)
        raise DownloadError(f"{address} answers {error.code} {error.reason}") from error
    except (OSError, HTTPException) as error:
        raise DownloadError(f"cannot reach {address}: {_reason(error)}") from error
    return response


def _chunks(response: HTTPResponse, address: str) -> Iterator[bytes]:
    while True:
        try:
            chunk = response.read(CHUNK)
        except (OSError, HTTPException) as error:
            raise DownloadError(
                f"{address} broke off: {_reason(error)}; ask again to go on from there"
            ) from error
        if not chunk:
            return
        yield chunk


def _reason(error: Exception) -> object:
    return getattr(error, "reason", None) or str(error) or type(error).__name__


def _refuse_other_length(response: HTTPResponse, address: str, start: int, size: int) -> None:
    """Before anything is overwritten: a login page must not replace the bytes received so far."""
    length = response.headers.get("Content-Length", "")
    if length.isdecimal() and start + int(length) != size:
        raise DownloadError(
            f"{address} offers {start + int(length):,} bytes where {size:,} are expected; "
            "it is another file"
        )


def _refuse_wrong_checksum(part: Path, address: str, sha256: str) -> None:
    if (got := checksum(part)) != sha256:
        part.unlink()
        raise DownloadError(
            f"{address} sent a file with the SHA-256 {got} where {sha256} is expected; it was "
            "deleted. Ask once more; if that happens again, do not trust the address"
        )


def _refuse_unsafe(address: str) -> None:
    """Accept https only, and plain http to this very machine.

    >>> _refuse_unsafe("ftp://example.org/a.onnx")
    Traceback (most recent call last):
    ...
    onlooker.vision.download.DownloadError: ftp://example.org/a.onnx is not an https:// address
    """
    parts = urlsplit(address)
    here = parts.scheme == "http" and parts.hostname in {"127.0.0.1", "::1", "localhost"}
    if parts.scheme != "https" and not here:
        raise DownloadError(f"{address} is not an https:// address")


class _SameScheme(HTTPRedirectHandler):
    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        if urlsplit(newurl).scheme != req.type:
            raise DownloadError(f"{req.full_url} sends us on to {newurl}: another scheme, refused")
        _refuse_unsafe(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


@contextmanager
def _locked(lock: Path) -> Iterator[None]:
    """One at a time, of threads and processes; the system releases a lock when its owner dies."""
    with lock.open("ab") as file:
        lock_file(file.fileno(), wait=True)
        yield
