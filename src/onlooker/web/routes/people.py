"""People and their faces: list, name, merge, forget, export; recognize and explain a picture."""

import time
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from numpy.typing import ArrayLike

from onlooker.core.errors import NotFound
from onlooker.home.home import Home
from onlooker.home.transfer import PersonExport, export_person, to_bytes
from onlooker.web.people import People
from onlooker.web.requests import BINARY, UPLOAD, uploaded_picture
from onlooker.web.responses import png_or, problems
from onlooker.web.schemas import (
    AnswerTaken,
    BoxRow,
    ChangedPerson,
    DroppedVertices,
    ExplainedFace,
    ExplanationRow,
    FaceGroup,
    FaceRow,
    ForgetPreview,
    MergeRequest,
    Name,
    NewName,
    NotThisName,
    Number,
    PersonId,
    PersonRow,
    PredictionRow,
    ReceiptRow,
    SightingHistory,
    TaughtFace,
)
from onlooker.web.service import Service

_EXPORT_TYPE = "application/octet-stream"
EXPORT: dict[int | str, dict[str, Any]] = {200: {"content": {_EXPORT_TYPE: BINARY}}}
PersonPath = Annotated[PersonId, Path(description="An id from the list of people.")]
VertexPath = Annotated[Number, Path(description="The number of a face.")]
Hours = Annotated[float, Query(gt=0, le=8784, description="How far back.")]
Buckets = Annotated[int, Query(ge=1, le=500, description="Into how many parts.")]


def people_routes(service: Service) -> APIRouter:
    """The people and their names."""
    routes = APIRouter(tags=["people"])
    people, call = service.people, service.home_thread.call

    @routes.get("/people", response_model=list[PersonRow], responses=problems())
    async def list_people() -> Response:
        """Everybody who is known, with how many faces, as of half a second ago at most."""
        table = people.recent_table or await call(people.table)
        return Response(table, media_type="application/json")

    @routes.patch("/people/{person}", responses=problems(404, 409, 422))
    async def rename(person: PersonPath, new: NewName) -> ChangedPerson:
        """Another name for somebody. The id changes with it."""
        return await call(lambda home: people.rename(home, person, new.name))

    @routes.post("/people/merge", responses=problems(404, 422))
    async def merge(two: MergeRequest) -> ChangedPerson:
        """Two names that are one person: the first name is dropped, its faces stay."""
        return await call(lambda home: people.merge(home, two.person, two.into))

    @routes.get("/people/{person}/forget", responses=problems(404, 422))
    async def forget_preview(person: PersonPath) -> ForgetPreview:
        """What forgetting them would delete, and who stays; nothing is changed."""
        return await call(lambda home: people.forget_preview(home, person))

    @routes.delete("/people/{person}", responses=problems(404, 422))
    async def forget(person: PersonPath) -> ReceiptRow:
        """Delete a person and everything stored about them, and get a receipt."""
        receipt = await call(lambda home: people.forget(home, person))
        return ReceiptRow.model_validate(receipt)

    return routes


def person_routes(service: Service) -> APIRouter:
    """The page about one person."""
    routes = APIRouter(tags=["people"])
    people, call = service.people, service.home_thread.call

    @routes.get("/people/{person}/history", responses=problems(404, 422))
    async def history(
        person: PersonPath, hours: Hours = 24.0, buckets: Buckets = 48
    ) -> SightingHistory:
        """How often they were sighted, the oldest first."""

        def job(home: Home) -> SightingHistory:
            until = time.time()
            since = until - hours * 3600
            counts = home.album.sighting_counts(people.name(home, person), since, until, buckets)
            return SightingHistory(since=since, to=until, counts=counts)

        return await call(job)

    @routes.get(
        "/people/{person}/export",
        response_class=Response,
        responses={**problems(404, 422), **EXPORT},
    )
    async def export(person: PersonPath) -> Response:
        """Their faces and pictures in one file, for `onlooker import`. It holds faces."""

        def job(home: Home) -> PersonExport:
            vertices = [face.vertex for face in people.faces(home, person)]
            return export_person(home, people.name(home, person), vertices)

        exported = await call(job)
        data = await run_in_threadpool(lambda: to_bytes(exported.export()))
        name = f'attachment; filename="onlooker-{person}.onlooker"'
        return Response(data, media_type=_EXPORT_TYPE, headers={"content-disposition": name})

    return routes


def face_routes(service: Service) -> APIRouter:
    """The faces of people."""
    routes = APIRouter(tags=["faces"])
    people, recognizer, call = service.people, service.recognizer, service.home_thread.call

    @routes.get("/faces", responses=problems(404, 422))
    async def list_faces(person: Annotated[PersonId, Query()]) -> list[FaceRow]:
        """The labeled and the learned faces of a person."""
        return await call(lambda home: people.faces(home, person))

    @routes.post("/faces", status_code=201, responses=problems(409, 422), openapi_extra=UPLOAD)
    async def teach(request: Request, name: Annotated[Name, Query()]) -> TaughtFace:
        """Teach a name from a picture with one face."""
        pixels = await uploaded_picture(request)
        return await call(lambda home: people.teach(home, recognizer.one_face(pixels), name))

    @routes.get(
        "/faces/{vertex}/picture",
        response_class=Response,
        responses=png_or(404, 422),
    )
    async def picture(vertex: VertexPath) -> Response:
        """The stored picture of a face."""
        png = await call(lambda home: home.album.picture(vertex))
        if png is None:
            raise NotFound(f"there is no picture of vertex {vertex}")
        return Response(png, media_type="image/png")

    @routes.post("/faces/{vertex}/label", responses=problems(404, 409, 422))
    async def label(vertex: VertexPath, new: NewName) -> TaughtFace:
        """Say who this face is."""
        return await call(lambda home: people.label(home, vertex, new.name))

    @routes.post("/faces/{vertex}/wrong", responses=problems(404, 422))
    async def wrong(vertex: VertexPath, group: bool = False) -> DroppedVertices:
        """Not this person: the face, and all learned only through it, become strangers.

        With its group, all that came to the name by the same narrowest link goes too, and the face
        is taught as not being that person.
        """
        return await call(lambda home: people.wrong(home, vertex, whole_group=group))

    @routes.get("/faces/{vertex}/group", responses=problems(404, 422))
    async def group(vertex: VertexPath) -> FaceGroup:
        """The faces that came to the name by the same narrowest link, to look at before "wrong"."""
        return await call(lambda home: people.group(home, vertex))

    @routes.post("/faces/{vertex}/not", responses=problems(404, 409, 422))
    async def exclude(vertex: VertexPath, who: NotThisName) -> AnswerTaken:
        """Say who this face is not; a face that a person labeled so is refused."""
        return await call(lambda home: people.exclude(home, people.vector(home, vertex), who.name))

    @routes.post("/faces/{vertex}/nobody", responses=problems(404, 409, 422))
    async def nobody(vertex: VertexPath) -> AnswerTaken:
        """Nobody whom people want to know; a face that a person labeled is refused."""
        return await call(lambda home: people.nobody(home, people.vector(home, vertex)))

    return routes


def recognition_routes(service: Service) -> APIRouter:
    """Recognize and explain faces; nothing is changed."""
    routes = APIRouter(tags=["questions"])
    people, finder, call = service.people, service.finder, service.home_thread.call

    @routes.post("/recognize", responses=problems(422), openapi_extra=UPLOAD)
    async def recognize(request: Request) -> list[PredictionRow]:
        """Name the faces in a picture. Nothing is learned from it, and it is not stored."""
        pixels = await uploaded_picture(request)

        def job(home: Home) -> list[PredictionRow]:
            return [
                PredictionRow.of(
                    face.box,
                    None if face.vector is None else home.predict(face.vector),
                    face.refusal,
                )
                for face in finder.faces(pixels)
            ]

        return await call(job)

    @routes.post("/explain", responses=problems(422), openapi_extra=UPLOAD)
    async def explain(request: Request) -> list[ExplainedFace]:
        """Why the faces in a picture get their names: the chains to labeled faces."""
        pixels = await uploaded_picture(request)

        def job(home: Home) -> list[ExplainedFace]:
            return [
                ExplainedFace(
                    box=BoxRow.model_validate(face.box),
                    why=None if face.vector is None else explained(people, home, face.vector),
                )
                for face in finder.faces(pixels)
            ]

        return await call(job)

    @routes.get("/explain/{vertex}", responses=problems(404, 422))
    async def explain_face(vertex: VertexPath) -> ExplanationRow:
        """Why a known face belongs to this person."""
        return await call(lambda home: explained(people, home, people.vector(home, vertex)))

    return routes


def explained(people: People, home: Home, vector: ArrayLike) -> ExplanationRow:
    """The explanation of a face, with the names and pictures of the vertices on the chains."""
    explanation = home.explain(vector)
    names = {owner.vertex: owner.name for owner in people.vertex_owners(home)}
    return ExplanationRow.of(explanation, names, set(home.album.vertices()))
