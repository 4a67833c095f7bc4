"""Every route under one roof, behind the guard."""

from fastapi import FastAPI

import onlooker
from onlooker.web.auth import Guard, Refused
from onlooker.web.middleware import Guarded
from onlooker.web.responses import answer_errors
from onlooker.web.routes.cameras import camera_routes, event_routes
from onlooker.web.routes.health import health_routes
from onlooker.web.routes.history import diary_routes
from onlooker.web.routes.live import live_routes
from onlooker.web.routes.map import map_routes
from onlooker.web.routes.page import page_routes
from onlooker.web.routes.people import (
    asking_routes,
    face_routes,
    people_routes,
    person_routes,
)
from onlooker.web.routes.seen import seen_routes
from onlooker.web.routes.session import login_routes, refused, session_routes
from onlooker.web.routes.sites import Sites, no_sites, site_routes
from onlooker.web.routes.strangers import stranger_routes
from onlooker.web.service import Service


def create_app(service: Service, *, guard: Guard, sites: Sites = no_sites) -> FastAPI:
    """The service of a service; whoever made the service closes it.

    sites tells of the other sites of a cluster, where there is one.
    """
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
        person_routes,
        face_routes,
        asking_routes,
        stranger_routes,
        seen_routes,
        map_routes,
        diary_routes,
        event_routes,
        camera_routes,
        health_routes,
    ):
        app.include_router(routes(service), prefix="/api/v1")
    app.include_router(session_routes(service, guard), prefix="/api/v1")
    app.include_router(site_routes(sites), prefix="/api/v1")
    app.include_router(live_routes(service))
    app.include_router(page_routes())
    app.include_router(login_routes(guard))
    app.add_exception_handler(Refused, refused)
    answer_errors(app)
    app.add_middleware(Guarded, guard=guard)
    return app
