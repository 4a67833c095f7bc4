"""Every route under one roof, behind the guard."""

from importlib.resources import files
from typing import Annotated

from fastapi import FastAPI, Query, Request, Response
from fastapi.responses import JSONResponse, RedirectResponse

import onlooker
from onlooker.web.guarded import Guarded
from onlooker.web.live_routes import live_routes
from onlooker.web.people_routes import asking_routes, face_routes, people_routes
from onlooker.web.replies import answer_errors
from onlooker.web.security import Guard, Refused, cookie_name
from onlooker.web.station import Station
from onlooker.web.stranger_routes import stranger_routes
from onlooker.web.system_routes import camera_routes, event_routes, health_routes

MONTH = 30 * 24 * 3600
TokenText = Annotated[str, Query(max_length=200)]
PAGE = {
    "/": ("index.html", "text/html"),
    "/page.js": ("page.js", "text/javascript"),
    "/page.css": ("page.css", "text/css"),
}


def create_app(station: Station, *, guard: Guard) -> FastAPI:
    """The service of a station; whoever made the station closes it."""
    app = FastAPI(
        title="Onlooker",
        version=onlooker.__version__,
        description="Learns who is in front of a camera. All processing is local.",
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # they load scripts from elsewhere
        redoc_url=None,
    )
    for routes in (
        people_routes,
        face_routes,
        asking_routes,
        stranger_routes,
        event_routes,
        camera_routes,
        health_routes,
    ):
        app.include_router(routes(station), prefix="/api/v1")
    app.include_router(live_routes(station))
    _add_page(app)
    _add_login(app, guard)
    answer_errors(app)
    app.add_middleware(Guarded, guard=guard)
    return app


def _add_page(app: FastAPI) -> None:
    folder = files(__package__) / "static"

    async def page(request: Request) -> Response:
        name, kind = PAGE[request.url.path]
        return Response((folder / name).read_bytes(), media_type=kind)

    for path in PAGE:
        app.add_api_route(path, page, include_in_schema=False)


def _add_login(app: FastAPI, guard: Guard) -> None:
    @app.get("/login", include_in_schema=False)
    async def login(
        request: Request, token: Annotated[str, Query(max_length=200)] = ""
    ) -> Response:
        """Keep the token in a cookie that only this site gets, and no script can read."""
        try:
            guard.admit(request.scope, token)
        except Refused as refused:
            return JSONResponse({"detail": refused.detail}, refused.status)
        answer = RedirectResponse("/", 303)
        secure = request.url.scheme == "https"
        answer.set_cookie(
            cookie_name(request.headers),
            token,
            max_age=MONTH,
            httponly=True,
            samesite="strict",
            secure=secure,
        )
        return answer
