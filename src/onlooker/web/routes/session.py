"""Signing in: the token goes into a cookie that is sent to this site only, hidden from scripts."""

import time
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import StringConstraints

import onlooker
from onlooker.web.auth import Guard, cookie_name
from onlooker.web.responses import problems
from onlooker.web.schemas import Schema
from onlooker.web.service import Service

COOKIE_SECONDS = 30 * 24 * 3600


class Session(Schema):
    """Whether the client is signed in; `store` identifies the home, `time` is the server's."""

    signed_in: bool
    needs_token: bool
    store: str
    version: str
    time: float


class SignIn(Schema):
    """The token that was printed at the first start."""

    token: Annotated[str, StringConstraints(min_length=1, max_length=200)]


def session_routes(service: Service, guard: Guard) -> APIRouter:
    """Signing in and out with the form of the page."""
    routes = APIRouter(tags=["session"])

    @routes.get("/session", responses=problems())
    async def session(request: Request) -> Session:
        """Whether this request carries the right token, which every change needs."""
        return Session(
            signed_in=guard.is_signed_in(request.headers),
            needs_token=True,
            store=service.home_info.identity,
            version=onlooker.__version__,
            time=time.time(),
        )

    @routes.post("/session", status_code=204, responses=problems(422))
    async def sign_in(request: Request, given: SignIn) -> Response:
        """Store the token in a cookie, if it is right."""
        guard.check_token(request.scope, given.token)
        return _with_cookie(Response(status_code=204), request, given.token)

    @routes.delete("/session", status_code=204, responses=problems())
    async def sign_out(request: Request) -> Response:
        """Delete the cookie."""
        response = Response(status_code=204)
        response.delete_cookie(cookie_name(request.headers), httponly=True, samesite="strict")
        return response

    return routes


def login_routes(guard: Guard) -> APIRouter:
    """Signing in with the URL that is printed at the first start."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/login")
    async def login(
        request: Request, token: Annotated[str, Query(max_length=200)] = ""
    ) -> Response:
        guard.check_token(request.scope, token)
        return _with_cookie(RedirectResponse("/", 303), request, token)

    return routes


def _with_cookie(response: Response, request: Request, token: str) -> Response:
    response.set_cookie(
        cookie_name(request.headers),
        token,
        max_age=COOKIE_SECONDS,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return response
