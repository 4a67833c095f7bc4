"""Signing in: the token in a cookie that only this site gets, and no script can read."""

import time
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse, RedirectResponse
from pydantic import StringConstraints

import onlooker
from onlooker.web.auth import Guard, Refused, cookie_name, token_in
from onlooker.web.responses import problems
from onlooker.web.schemas import Model
from onlooker.web.service import Service

MONTH = 30 * 24 * 3600


class Session(Model):
    """Who asks, and whom: `store` is another word whenever the home is another."""

    signed_in: bool
    needs_token: bool
    store: str
    version: str
    time: float


class SignIn(Model):
    """The token that was printed at the first start."""

    token: Annotated[str, StringConstraints(min_length=1, max_length=200)]


def session_routes(service: Service, guard: Guard) -> APIRouter:
    """For the form of the page."""
    routes = APIRouter(tags=["session"])

    @routes.get("/session", responses=problems())
    async def session(request: Request) -> Session:
        """Whether this request carries the right token; what changes something needs it."""
        return Session(
            signed_in=guard.door.knows(token_in(request.headers)),
            needs_token=True,
            store=service.facts.identity,
            version=onlooker.__version__,
            time=time.time(),
        )

    @routes.post("/session", status_code=204, responses=problems(422))
    async def sign_in(request: Request, wish: SignIn) -> Response:
        """Keep the token in a cookie, if it is right."""
        guard.admit(request.scope, wish.token)
        return with_cookie(Response(status_code=204), request, wish.token)

    @routes.delete("/session", status_code=204, responses=problems())
    async def sign_out(request: Request) -> Response:
        """Let go of the cookie."""
        answer = Response(status_code=204)
        answer.delete_cookie(cookie_name(request.headers), httponly=True, samesite="strict")
        return answer

    return routes


def login_routes(guard: Guard) -> APIRouter:
    """For the address that is printed at the first start."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/login")
    async def login(
        request: Request, token: Annotated[str, Query(max_length=200)] = ""
    ) -> Response:
        guard.admit(request.scope, token)
        return with_cookie(RedirectResponse("/", 303), request, token)

    return routes


def with_cookie(answer: Response, request: Request, token: str) -> Response:
    """The same answer with the token for next time."""
    answer.set_cookie(
        cookie_name(request.headers),
        token,
        max_age=MONTH,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return answer


async def refused(request: Request, error: Exception) -> JSONResponse:
    """What the guard says where a route asked it."""
    if not isinstance(error, Refused):
        raise error
    return JSONResponse({"detail": error.detail}, error.status)
