"""Strangers: one card each, to be named or ignored."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from onlooker.strangers.cards import chosen_faces
from onlooker.web.responses import png_or, problems
from onlooker.web.schemas import FaceKey, NamedStranger, Number, StrangerName, StrangerRow
from onlooker.web.service import Service

CardPath = Annotated[Number, Path(description="The number of a card.")]


def stranger_routes(service: Service) -> APIRouter:
    """People who were seen and have no name."""
    routes = APIRouter(tags=["strangers"])
    people, call = service.people, service.home_thread.call

    @routes.get("/strangers", responses=problems(422))
    async def list_strangers(hidden: Annotated[bool, Query()] = False) -> list[StrangerRow]:
        """One card for each stranger, the most often seen first; with the ignored ones if asked."""
        cards = await call(lambda home: people.strangers(hidden=hidden))
        return [StrangerRow.of(card) for card in cards]

    @routes.get(
        "/strangers/{card}/faces/{key}", response_class=Response, responses=png_or(404, 422)
    )
    async def picture(card: CardPath, key: Annotated[FaceKey, Path()]) -> Response:
        """One of the best faces of a stranger."""
        found = await call(lambda home: people.stranger(card))
        return Response(chosen_faces(found, [key])[0].picture, media_type="image/png")

    @routes.post("/strangers/{card}/name", responses=problems(404, 409, 422))
    async def name(card: CardPath, new: StrangerName) -> NamedStranger:
        """Say who it is: the best faces, or the chosen ones, are taught; the card is deleted."""
        return await call(lambda home: people.name_stranger(home, card, new.name, new.faces))

    @routes.post("/strangers/{card}/ignore", status_code=204, responses=problems(404, 422))
    async def ignore(card: CardPath) -> None:
        """Hide a stranger, now and whenever they are seen again."""
        await call(lambda home: people.ignore(card))

    @routes.post("/strangers/{card}/show", status_code=204, responses=problems(404, 422))
    async def show(card: CardPath) -> None:
        """Show an ignored stranger again."""
        await call(lambda home: people.show(card))

    return routes
