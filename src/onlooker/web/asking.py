"""How a route asks the thread that owns the home, without holding up the others."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from fastapi import Request
from fastapi.concurrency import run_in_threadpool

from onlooker.home.home import Home
from onlooker.vision.types import Pixels
from onlooker.web.station import Station
from onlooker.web.uploads import decoded

_Result = TypeVar("_Result")


async def asked(station: Station, act: Callable[[Home], _Result]) -> _Result:
    """The answer, once it is there."""
    return await asyncio.wrap_future(station.ask(act))


async def uploaded(request: Request) -> Pixels:
    """The picture that is the body of a request."""
    return await run_in_threadpool(decoded, await request.body())
