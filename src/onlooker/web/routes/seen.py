"""Faces that are on a screen now: ask why, name them, say that they are wrong."""

from typing import Annotated

from fastapi import APIRouter, Path, Response

from onlooker.home.home import Home
from onlooker.web import schemas
from onlooker.web.people import vector_of
from onlooker.web.requests import call_home
from onlooker.web.responses import png_or, problems
from onlooker.web.routes.people import explained
from onlooker.web.schemas import Number
from onlooker.web.service import Service

Camera = Annotated[str, Path(max_length=64, description="The name of a camera.")]
Track = Annotated[Number, Path(description="The number of a track, as in the live results.")]


def seen_routes(service: Service) -> APIRouter:
    """Remembered in memory, for the latest tracks; never on the disk."""
    routes, people, deeds = APIRouter(tags=["seen"]), service.people, service.deeds
    recent = service.recognizer.recent

    @routes.get("/seen/{camera}/{track}/why", responses=problems(404, 422))
    async def why(camera: Camera, track: Track) -> schemas.WhySeen:
        """Why this face gets its name, or none."""

        def act(home: Home) -> schemas.WhySeen:
            face = recent.face(camera, track)
            told = explained(people, home, vector_of(face))
            return schemas.WhySeen(**dict(told), vertex=face.vertex, card=face.card)

        return await call_home(service, act)

    @routes.get(
        "/seen/{camera}/{track}/picture", response_class=Response, responses=png_or(404, 422)
    )
    async def picture(camera: Camera, track: Track) -> Response:
        """The newest usable picture of this face."""
        png = await call_home(service, lambda home: recent.face(camera, track).png())
        return Response(png, media_type="image/png")

    @routes.post("/seen/{camera}/{track}/label", responses=problems(404, 409, 422))
    async def label(camera: Camera, track: Track, new: schemas.NewName) -> schemas.Taught:
        """Say who this is; the stranger's card the face went to is gone with it."""

        def act(home: Home) -> schemas.Taught:
            vertex, undo = deeds.label_seen(home, recent.face(camera, track), new.name)
            person = schemas.Person.model_validate(people.person(home, new.name))
            return schemas.Taught(person=person, vertex=vertex, undo=undo)

        return await call_home(service, act)

    @routes.post("/seen/{camera}/{track}/wrong", responses=problems(404, 409, 422))
    async def wrong(camera: Camera, track: Track) -> schemas.Dropped:
        """Not this person: what was learned from this face goes, with all that hangs on it."""
        dropped, undo = await call_home(
            service, lambda home: deeds.wrong_seen(home, recent.face(camera, track))
        )
        return schemas.Dropped(dropped=dropped, undo=undo)

    return routes
