"""Photos: find the faces in them, group them by person, teach the chosen ones."""

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from fastapi.concurrency import run_in_threadpool

from onlooker.home.home import FaceToTeach, Home
from onlooker.web.requests import UPLOAD
from onlooker.web.responses import png_or, problems
from onlooker.web.schemas import (
    FaceKey,
    FoundPhoto,
    PhotoFace,
    PhotoKeys,
    PhotoNames,
    PredictionRow,
    TaughtFaces,
)
from onlooker.web.service import Service


def photo_routes(service: Service) -> APIRouter:
    """Photos of people."""
    routes = APIRouter(tags=["photos"], prefix="/photos")
    people, photos, call = service.people, service.photos, service.home_thread.call

    @routes.post("", responses=problems(422), openapi_extra=UPLOAD)
    async def find(request: Request) -> FoundPhoto:
        """Find the faces in a photo, also a rotated one, and say who they would be.

        Nothing is learned, and the photo is not stored; its faces can be chosen for half an hour,
        in memory, unless a person is forgotten.
        """
        found = await run_in_threadpool(photos.find, await request.body())

        def job(home: Home) -> list[PhotoFace]:
            return [
                PhotoFace(face=face.key, **dict(PredictionRow.of(face.box, answer, face.refusal)))
                for face in found.faces
                for answer in [None if face.vector is None else home.predict(face.vector)]
            ]

        return FoundPhoto(width=found.width, height=found.height, faces=await call(job))

    @routes.get("/faces/{face}/picture", response_class=Response, responses=png_or(404, 422))
    async def picture(face: Annotated[FaceKey, Path()]) -> Response:
        """A face of a photo that was sent a while ago."""
        return Response(photos.face(face).png, media_type="image/png")

    @routes.post("/groups", responses=problems(404, 422))
    async def groups(keys: PhotoKeys) -> list[list[str]]:
        """These faces by person, as far as they look alike; poor ones are left out."""
        return await call(lambda home: photos.groups(keys.faces, home.learner.kernel))

    @routes.post("/teach", status_code=201, responses=problems(404, 409, 422))
    async def teach(chosen: PhotoNames) -> TaughtFaces:
        """Teach the chosen faces, all or none of them, in one change that one undo takes back."""
        faces = [
            FaceToTeach(each.name, photos.vector(each.face), photos.face(each.face).png)
            for each in chosen.faces
        ]
        return await call(lambda home: people.teach_all(home, faces))

    return routes
