"""Faces that are in the live view now: explain them, name them, correct them."""

from typing import Annotated

from fastapi import APIRouter, Path, Response

from onlooker.home.home import Home
from onlooker.web.people import vector_of
from onlooker.web.responses import png_or, problems
from onlooker.web.routes.people import explained
from onlooker.web.schemas import (
    AnswerTaken,
    DroppedVertices,
    FaceGroup,
    NewName,
    NotThisName,
    Number,
    SeenExplanation,
    TaughtFace,
)
from onlooker.web.service import Service

CameraPath = Annotated[str, Path(max_length=64, description="The name of a camera.")]
TrackPath = Annotated[Number, Path(description="The number of a track, as in the live results.")]


def seen_routes(service: Service) -> APIRouter:
    """The latest tracks of each camera; they are held in memory, never on the disk."""
    routes = APIRouter(tags=["seen"])
    people, recent, call = service.people, service.recent_faces, service.home_thread.call

    @routes.get("/seen/{camera}/{track}/why", responses=problems(404, 422))
    async def why(camera: CameraPath, track: TrackPath) -> SeenExplanation:
        """Why this face gets its name, or none."""

        def job(home: Home) -> SeenExplanation:
            face = recent.face(camera, track)
            explanation = explained(people, home, vector_of(face))
            return SeenExplanation(**dict(explanation), vertex=face.vertex, card=face.card)

        return await call(job)

    @routes.get(
        "/seen/{camera}/{track}/picture", response_class=Response, responses=png_or(404, 422)
    )
    async def picture(camera: CameraPath, track: TrackPath) -> Response:
        """The newest usable picture of this face."""
        png = await call(lambda home: recent.face(camera, track).png())
        return Response(png, media_type="image/png")

    @routes.post("/seen/{camera}/{track}/label", responses=problems(404, 409, 422))
    async def label(camera: CameraPath, track: TrackPath, new: NewName) -> TaughtFace:
        """Say who this is; the stranger's card of this face is deleted."""
        return await call(
            lambda home: people.label_seen(home, recent.face(camera, track), new.name)
        )

    @routes.post("/seen/{camera}/{track}/wrong", responses=problems(404, 409, 422))
    async def wrong(camera: CameraPath, track: TrackPath, group: bool = False) -> DroppedVertices:
        """Not this person: what was learned from this face, and only through it, is deleted.

        With its group, all that came to the name by the same narrowest link.
        """
        return await call(
            lambda home: people.wrong_seen(home, recent.face(camera, track), whole_group=group)
        )

    @routes.get("/seen/{camera}/{track}/group", responses=problems(404, 422))
    async def group(camera: CameraPath, track: TrackPath) -> FaceGroup:
        """The faces that came to the name with this one, to look at before "wrong"."""
        return await call(lambda home: people.group_seen(home, recent.face(camera, track)))

    @routes.post("/seen/{camera}/{track}/not", responses=problems(404, 409, 422))
    async def exclude(camera: CameraPath, track: TrackPath, who: NotThisName) -> AnswerTaken:
        """Say who this is not: neither this face nor those like it get the name from here on."""
        return await call(
            lambda home: people.exclude(home, vector_of(recent.face(camera, track)), who.name)
        )

    @routes.post("/seen/{camera}/{track}/nobody", responses=problems(404, 409, 422))
    async def nobody(camera: CameraPath, track: TrackPath) -> AnswerTaken:
        """Nobody whom people want to know: no name, and a stranger's card that is hidden."""

        def job(home: Home) -> AnswerTaken:
            face = recent.face(camera, track)
            return people.nobody(home, vector_of(face), face.card)

        return await call(job)

    return routes
