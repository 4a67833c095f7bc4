"""A copy of the home to download, while it is learning."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from threading import Lock

from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from onlooker.home.backup import backup_archive
from onlooker.web.backup_process import BackupUnderWay, copy_in_process
from onlooker.web.responses import problems
from onlooker.web.service import Service

WAIT = 3.0
"""Seconds that a backup waits for another one, which may be just finished."""
ARCHIVE_TYPE = "application/x-tar"

_OpenArchive = AbstractContextManager[tuple[int, Iterator[bytes]]]


def backup_routes(service: Service) -> APIRouter:
    """One archive at a time: each is a copy of all data on the disk while it is sent."""
    routes = APIRouter(tags=["backup"])
    being_made = Lock()
    file = {"schema": {"type": "string", "format": "binary"}}
    archive = {"description": "A tar archive.", "content": {ARCHIVE_TYPE: file}}
    answers = {**problems(409), 200: archive}

    @routes.get("/backup", response_class=StreamingResponse, responses=answers)
    async def backup() -> ArchiveResponse:
        """A verified copy of the whole home as of now, for `onlooker restore`.

        It holds every face and name: whoever has it knows what the home knows.
        """
        if not await asyncio.to_thread(being_made.acquire, timeout=WAIT):
            raise BackupUnderWay("another backup is being made; try again when it is finished")
        making = backup_archive(service.home_info.folder, copy_in_process)
        try:
            size, chunks = await asyncio.to_thread(making.__enter__)
        except BaseException:
            being_made.release()
            raise
        return ArchiveResponse(making, size, chunks, being_made)

    return routes


class ArchiveResponse(StreamingResponse):
    """An archive in chunks; its copy on the disk is deleted however the sending ends."""

    def __init__(
        self, making: _OpenArchive, size: int, chunks: Iterator[bytes], being_made: Lock
    ) -> None:
        name = time.strftime("onlooker-backup-%Y-%m-%d-%H%M%S.tar", time.gmtime())
        super().__init__(
            chunks,
            media_type=ARCHIVE_TYPE,
            headers={
                "content-disposition": f'attachment; filename="{name}"',
                "content-length": str(size),
            },
        )
        self._making, self._being_made = making, being_made

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._making.__exit__(None, None, None)
            self._being_made.release()
