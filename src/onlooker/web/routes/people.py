"""People, faces, recognize, explain.

One person: when they were seen, and all that is known of them in a file.

Why a face gets its name, with the pictures and names of those on the way.
"""

import time
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from numpy.typing import ArrayLike

from onlooker.core.errors import NotFound
from onlooker.home.home import Home
from onlooker.home.transfer import PersonExport, packed, portrait
from onlooker.web import schemas
from onlooker.web.people import People
from onlooker.web.requests import call_home, uploaded
from onlooker.web.responses import png_or, problems
from onlooker.web.schemas import Name, Number, PersonId, Why
from onlooker.web.service import Service


def explained(people: People, home: Home, vector: ArrayLike) -> Why:
    """Why, in the thread that owns the home."""
    why = home.explain(vector)
    return Why.of(why, people.names_of_vertices(home), set(home.album.vertices()))


_FILE = {"schema": {"type": "string", "format": "binary"}}
UPLOAD: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The file itself: JPEG, PNG, BMP, WebP, TIFF or PNM.",
        "content": {"image/jpeg": _FILE, "image/png": _FILE, "application/octet-stream": _FILE},
    }
}
Person = Annotated[PersonId, Path(description="An id from the list of people.")]
Vertex = Annotated[Number, Path(description="The number of a face.")]


def people_routes(service: Service) -> APIRouter:
    """Who is known, and their names."""
    routes, people, deeds = APIRouter(tags=["people"]), service.people, service.deeds

    @routes.get("/people", responses=problems())
    async def list_people() -> list[schemas.Person]:
        """Everybody who is known, with how many faces."""
        found = await call_home(service, people.listed)
        return [schemas.Person.model_validate(person) for person in found]

    @routes.patch("/people/{person}", responses=problems(404, 409, 422))
    async def rename(person: Person, new: schemas.NewName) -> schemas.Changed:
        """Another name for somebody. The id changes with it."""

        def act(home: Home) -> schemas.Changed:
            undo = deeds.rename(home, person, new.name)
            return schemas.Changed(**asdict(people.person(home, new.name)), undo=undo)

        return await call_home(service, act)

    @routes.post("/people/merge", responses=problems(404, 422))
    async def merge(two: schemas.Merge) -> schemas.Changed:
        """Two names that are one person: the first name goes, its faces stay."""

        def act(home: Home) -> schemas.Changed:
            name, undo = deeds.merge(home, two.person, two.into)
            return schemas.Changed(**asdict(people.person(home, name)), undo=undo)

        return await call_home(service, act)

    @routes.delete("/people/{person}", responses=problems(404, 422))
    async def forget(person: Person) -> schemas.Receipt:
        """Forget somebody so that nothing remains, and get a receipt."""
        receipt = await call_home(service, lambda home: deeds.forget(home, person))
        return schemas.Receipt.model_validate(receipt)

    return routes


def face_routes(service: Service) -> APIRouter:
    """The faces of people."""
    routes, people, deeds = APIRouter(tags=["faces"]), service.people, service.deeds

    @routes.get("/faces", responses=problems(404, 422))
    async def list_faces(person: Annotated[PersonId, Query()]) -> list[schemas.Face]:
        """The labeled and the learned faces of a person."""
        found = await call_home(service, lambda home: people.faces(home, person))
        return [schemas.Face.model_validate(face) for face in found]

    @routes.post("/faces", status_code=201, responses=problems(409, 422), openapi_extra=UPLOAD)
    async def teach(request: Request, name: Annotated[Name, Query()]) -> schemas.Taught:
        """Teach a name from a picture with one face."""
        pixels = await uploaded(request)

        def act(home: Home) -> schemas.Taught:
            vertex, undo = deeds.teach(home, service.recognizer.one_face(pixels), name)
            person = schemas.Person.model_validate(people.person(home, name))
            return schemas.Taught(person=person, vertex=vertex, undo=undo)

        return await call_home(service, act)

    @routes.get(
        "/faces/{vertex}/picture",
        response_class=Response,
        responses=png_or(404, 422),
    )
    async def picture(vertex: Vertex) -> Response:
        """The picture that was kept of a face."""
        png = await call_home(service, lambda home: home.album.picture(vertex))
        if png is None:
            raise NotFound(f"no picture was kept of vertex {vertex}")
        return Response(png, media_type="image/png")

    @routes.post("/faces/{vertex}/label", responses=problems(404, 409, 422))
    async def label(vertex: Vertex, new: schemas.NewName) -> schemas.Taught:
        """Say who this face is."""

        def act(home: Home) -> schemas.Taught:
            undo = deeds.label(home, vertex, new.name)
            person = schemas.Person.model_validate(people.person(home, new.name))
            return schemas.Taught(person=person, vertex=vertex, undo=undo)

        return await call_home(service, act)

    @routes.post("/faces/{vertex}/wrong", responses=problems(404, 422))
    async def wrong(vertex: Vertex) -> schemas.Dropped:
        """Not this person: the face, and all learned through it only, become strangers."""
        dropped, undo = await call_home(service, lambda home: deeds.wrong(home, vertex))
        return schemas.Dropped(dropped=dropped, undo=undo)

    return routes


def asking_routes(service: Service) -> APIRouter:
    """Questions that change nothing."""
    routes, people = APIRouter(tags=["questions"]), service.people
    finder = service.recognizer.finder

    @routes.post("/recognize", responses=problems(422), openapi_extra=UPLOAD)
    async def recognize(request: Request) -> list[schemas.Answer]:
        """Name the faces in a picture. Nothing is learned from it, and it is not kept."""
        pixels = await uploaded(request)

        def act(home: Home) -> list[schemas.Answer]:
            return [
                schemas.Answer.of(
                    face.box,
                    None if face.vector is None else home.predict(face.vector),
                    face.refusal,
                )
                for face in finder.faces(pixels)
            ]

        return await call_home(service, act)

    @routes.post("/explain", responses=problems(422), openapi_extra=UPLOAD)
    async def explain(request: Request) -> list[schemas.Explained]:
        """Why the faces in a picture get their names: the chains to labeled faces."""
        pixels = await uploaded(request)

        def act(home: Home) -> list[schemas.Explained]:
            return [
                schemas.Explained(
                    box=schemas.Box.model_validate(face.box),
                    why=None if face.vector is None else explained(people, home, face.vector),
                )
                for face in finder.faces(pixels)
            ]

        return await call_home(service, act)

    @routes.get("/explain/{vertex}", responses=problems(404, 422))
    async def explain_face(vertex: Vertex) -> schemas.Why:
        """Why a face that is known is whose it is."""

        def act(home: Home) -> schemas.Why:
            return explained(people, home, people.vector(home, vertex))

        return await call_home(service, act)

    return routes


FILE = "application/octet-stream"
_EXPORT: dict[int | str, dict[str, Any]] = {
    200: {"content": {FILE: {"schema": {"type": "string", "format": "binary"}}}}
}
Hours = Annotated[float, Query(gt=0, le=8784, description="How far back.")]
Buckets = Annotated[int, Query(ge=1, le=500, description="Into how many parts.")]


def person_routes(service: Service) -> APIRouter:
    """What a page about a person shows."""
    routes, people = APIRouter(tags=["people"]), service.people

    @routes.get("/people/{person}/history", responses=problems(404, 422))
    async def history(
        person: Person, hours: Hours = 24.0, buckets: Buckets = 48
    ) -> schemas.History:
        """How often they were sighted: lines of the diary, the oldest first."""

        def act(home: Home) -> schemas.History:
            until = time.time()
            since = until - hours * 3600
            counts = home.album.history(people.name(home, person), since, until, buckets)
            return schemas.History(since=since, to=until, counts=counts)

        return await call_home(service, act)

    @routes.get(
        "/people/{person}/export",
        response_class=Response,
        responses={**problems(404, 422), **_EXPORT},
    )
    async def export(person: Person) -> Response:
        """Their faces and pictures in one file, for `onlooker import`. It holds faces."""

        def act(home: Home) -> PersonExport:
            vertices = [face.vertex for face in people.faces(home, person)]
            return portrait(home, people.name(home, person), vertices)

        found = await call_home(service, act)
        data = await run_in_threadpool(lambda: packed(found.parcel()))
        name = f'attachment; filename="onlooker-{person}.onlooker"'
        return Response(data, media_type=FILE, headers={"content-disposition": name})

    return routes
