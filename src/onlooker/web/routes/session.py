"""Signing in: the token or a one-time code begins a session, a cookie hidden from scripts."""

import time
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from pydantic import StringConstraints

import onlooker
from onlooker.core.errors import NotFound
from onlooker.web.auth import VISIT, Guard, Requester
from onlooker.web.credentials import SESSION_SECONDS
from onlooker.web.responses import problems
from onlooker.web.schemas import Schema
from onlooker.web.service import Service

SessionId = Annotated[str, Path(pattern="^[0-9a-f]{16}$")]


class Session(Schema):
    """Whether the client is signed in; `store` identifies the home, `time` is the server's.

    Nothing is said of the home to who is not signed in.
    """

    signed_in: bool
    store: str | None
    version: str | None
    time: float


class SignIn(Schema):
    """The token, or a code that `onlooker login` printed."""

    token: Annotated[str, StringConstraints(min_length=1, max_length=200)]


class SessionRow(Schema):
    """A browser that is signed in; `current` is the one that asks."""

    id: str
    began: float
    used: float
    agent: str
    address: str
    current: bool


def session_routes(service: Service, guard: Guard) -> APIRouter:
    """Signing in and out, and the list of who is signed in."""
    routes = APIRouter(tags=["session"])
    sessions = guard.credentials.sessions

    @routes.get("/session", responses=problems())
    async def session(request: Request) -> Session:
        """Whether this request is signed in, which all data needs."""
        signed_in = guard.is_signed_in(visit_of(request), request.headers)
        return Session(
            signed_in=signed_in,
            store=service.home_info.identity if signed_in else None,
            version=onlooker.__version__ if signed_in else None,
            time=time.time(),
        )

    @routes.post("/session", status_code=204, responses=problems(422))
    def sign_in(request: Request, given: SignIn) -> Response:
        """Begin a session, if the token or the code is right; a code works once."""
        visit, response = visit_of(request), Response(status_code=204)
        cookie = guard.begin_session(visit, given.token, request.headers.get("user-agent", ""))
        response.set_cookie(
            visit.cookie_name,
            cookie,
            max_age=int(SESSION_SECONDS),
            path=f"{visit.prefix}/",
            httponly=True,
            samesite="strict",
            secure=visit.secure,
        )
        return response

    @routes.delete("/session", status_code=204, responses=problems())
    def sign_out(request: Request) -> Response:
        """End the session of this request, and delete its cookie."""
        visit, response = visit_of(request), Response(status_code=204)
        if visit.session is not None:
            sessions.end(visit.session.id)
        response.delete_cookie(
            visit.cookie_name,
            path=f"{visit.prefix}/",
            httponly=True,
            samesite="strict",
            secure=visit.secure,
        )
        return response

    @routes.get("/sessions", responses=problems())
    async def list_sessions(request: Request) -> list[SessionRow]:
        """Every browser that is signed in, the one used last first."""
        own = visit_of(request).session
        return [
            SessionRow(
                id=each.id,
                began=each.began,
                used=each.used,
                agent=each.agent,
                address=each.address,
                current=own is not None and own.id == each.id,
            )
            for each in sessions.listed()
        ]

    @routes.delete("/sessions/{id}", status_code=204, responses=problems(404, 422))
    def end_session(id: SessionId) -> Response:
        """Sign a browser out."""
        if not sessions.end(id):
            raise NotFound("there is no such session any more")
        return Response(status_code=204)

    return routes


def visit_of(request: Request) -> Requester:
    """Who asks, as the guard found."""
    visit = request.scope["state"][VISIT]
    if not isinstance(visit, Requester):
        raise TypeError("the guard was not passed")
    return visit
