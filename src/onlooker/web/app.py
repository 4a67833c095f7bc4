"""The FastAPI app: all routes, behind the guard."""

from fastapi import FastAPI

import onlooker
from onlooker.web.auth import Guard, GuardMiddleware
from onlooker.web.responses import add_error_handlers
from onlooker.web.routes.audit import audit_routes
from onlooker.web.routes.backup import backup_routes
from onlooker.web.routes.cameras import camera_routes
from onlooker.web.routes.health import health_routes
from onlooker.web.routes.history import event_routes, sighting_routes
from onlooker.web.routes.live import live_routes
from onlooker.web.routes.map import map_routes
from onlooker.web.routes.page import page_routes
from onlooker.web.routes.people import (
    face_routes,
    people_routes,
    person_routes,
    recognition_routes,
)
from onlooker.web.routes.photos import photo_routes
from onlooker.web.routes.seen import seen_routes
from onlooker.web.routes.session import session_routes
from onlooker.web.routes.sites import ListSites, no_sites, site_routes
from onlooker.web.routes.strangers import stranger_routes
from onlooker.web.service import Service


def create_app(service: Service, *, guard: Guard, list_sites: ListSites = no_sites) -> FastAPI:
    """The app of a service, which it does not close.

    list_sites returns the other sites of a cluster, where there is one.
    """
    app = FastAPI(
        title="Onlooker",
        version=onlooker.__version__,
        description="Learns who is in front of a camera. All processing is local.",
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # FastAPI's documentation pages load scripts from other sites
        redoc_url=None,
    )
    for routes in (
        people_routes,
        person_routes,
        face_routes,
        recognition_routes,
        photo_routes,
        stranger_routes,
        seen_routes,
        map_routes,
        audit_routes,
        event_routes,
        sighting_routes,
        camera_routes,
        health_routes,
        backup_routes,
    ):
        app.include_router(routes(service), prefix="/api/v1")
    app.include_router(session_routes(service, guard), prefix="/api/v1")
    app.include_router(site_routes(list_sites), prefix="/api/v1")
    app.include_router(live_routes(service))
    app.include_router(page_routes())
    add_error_handlers(app)
    app.add_middleware(GuardMiddleware, guard=guard)
    return app
