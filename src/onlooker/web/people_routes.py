"""People, faces, recognize, explain."""

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response

from onlooker.core.errors import NotFound
from onlooker.home.home import Home
from onlooker.web import answers, models
from onlooker.web.asking import asked, uploaded
from onlooker.web.explaining import explained
from onlooker.web.models import Name, Number, PersonId
from onlooker.web.replies import png_or, problems
from onlooker.web.station import Station

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


def people_routes(station: Station) -> APIRouter:
    """Who is known, and their names."""
    routes, people, deeds = APIRouter(tags=["people"]), station.people, station.deeds

    @routes.get("/people", responses=problems())
    async def list_people() -> list[models.Person]:
        """Everybody who is known, with how many faces."""
        found = await asked(station, people.listed)
        return [models.Person.model_validate(person) for person in found]

    @routes.patch("/people/{person}", responses=problems(404, 409, 422))
    async def rename(person: Person, new: models.NewName) -> models.Changed:
        """Another name for somebody. The id changes with it."""

        def act(home: Home) -> models.Changed:
            undo = deeds.rename(home, person, new.name)
            return models.Changed(**asdict(people.person(home, new.name)), undo=undo)

        return await asked(station, act)

    @routes.post("/people/merge", responses=problems(404, 422))
    async def merge(two: models.Merge) -> models.Changed:
        """Two names that are one person: the first name goes, its faces stay."""

        def act(home: Home) -> models.Changed:
            name, undo = deeds.merge(home, two.person, two.into)
            return models.Changed(**asdict(people.person(home, name)), undo=undo)

        return await asked(station, act)

    @routes.delete("/people/{person}", responses=problems(404, 422))
    async def forget(person: Person) -> models.Receipt:
        """Forget somebody so that nothing remains, and get a receipt."""
        receipt = await asked(station, lambda home: deeds.forget(home, person))
        return models.Receipt.model_validate(receipt)

    return routes


def face_routes(station: Station) -> APIRouter:
    """The faces of people."""
    routes, people, deeds = APIRouter(tags=["faces"]), station.people, station.deeds

    @routes.get("/faces", responses=problems(404, 422))
    async def list_faces(person: Annotated[PersonId, Query()]) -> list[models.Face]:
        """The labeled and the learned faces of a person."""
        found = await asked(station, lambda home: people.faces(home, person))
        return [models.Face.model_validate(face) for face in found]

    @routes.post("/faces", status_code=201, responses=problems(409, 422), openapi_extra=UPLOAD)
    async def teach(request: Request, name: Annotated[Name, Query()]) -> models.Taught:
        """Teach a name from a picture with one face."""
        pixels = await uploaded(request)

        def act(home: Home) -> models.Taught:
            vertex, undo = deeds.teach(home, station.sight.one_face(pixels), name)
            person = models.Person.model_validate(people.person(home, name))
            return models.Taught(person=person, vertex=vertex, undo=undo)

        return await asked(station, act)

    @routes.get(
        "/faces/{vertex}/picture",
        response_class=Response,
        responses=png_or(404, 422),
    )
    async def picture(vertex: Vertex) -> Response:
        """The picture that was kept of a face."""
        png = await asked(station, lambda home: home.album.picture(vertex))
        if png is None:
            raise NotFound(f"no picture was kept of vertex {vertex}")
        return Response(png, media_type="image/png")

    @routes.post("/faces/{vertex}/label", responses=problems(404, 409, 422))
    async def label(vertex: Vertex, new: models.NewName) -> models.Taught:
        """Say who this face is."""

        def act(home: Home) -> models.Taught:
            undo = deeds.label(home, vertex, new.name)
            person = models.Person.model_validate(people.person(home, new.name))
            return models.Taught(person=person, vertex=vertex, undo=undo)

        return await asked(station, act)

    @routes.post("/faces/{vertex}/wrong", responses=problems(404, 422))
    async def wrong(vertex: Vertex) -> models.Dropped:
        """Not this person: the face, and all learned through it only, become strangers."""
        dropped, undo = await asked(station, lambda home: deeds.wrong(home, vertex))
        return models.Dropped(dropped=dropped, undo=undo)

    return routes


def asking_routes(station: Station) -> APIRouter:
    """Questions that change nothing."""
    routes, people, sight = APIRouter(tags=["questions"]), station.people, station.sight

    @routes.post("/recognize", responses=problems(422), openapi_extra=UPLOAD)
    async def recognize(request: Request) -> list[answers.Answer]:
        """Name the faces in a picture. Nothing is learned from it, and it is not kept."""
        pixels = await uploaded(request)

        def act(home: Home) -> list[answers.Answer]:
            return [
                answers.Answer.of(
                    face.box,
                    None if face.vector is None else home.predict(face.vector),
                    face.refusal,
                )
                for face in sight.faces(pixels)
            ]

        return await asked(station, act)

    @routes.post("/explain", responses=problems(422), openapi_extra=UPLOAD)
    async def explain(request: Request) -> list[answers.Explained]:
        """Why the faces in a picture get their names: the chains to labeled faces."""
        pixels = await uploaded(request)

        def act(home: Home) -> list[answers.Explained]:
            return [
                answers.Explained(
                    box=answers.Box.model_validate(face.box),
                    why=None if face.vector is None else explained(people, home, face.vector),
                )
                for face in sight.faces(pixels)
            ]

        return await asked(station, act)

    @routes.get("/explain/{vertex}", responses=problems(404, 422))
    async def explain_face(vertex: Vertex) -> answers.Why:
        """Why a face that is known is whose it is."""

        def act(home: Home) -> answers.Why:
            return explained(people, home, people.vector(home, vertex))

        return await asked(station, act)

    return routes
