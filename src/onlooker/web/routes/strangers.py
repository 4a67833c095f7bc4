"""Strangers: one card each, to be named once or ignored."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from onlooker.home.home import Home
from onlooker.strangers.cards import chosen
from onlooker.web import schemas
from onlooker.web.requests import call_home
from onlooker.web.responses import png_or, problems
from onlooker.web.schemas import FaceKey, Number
from onlooker.web.service import Service

Card = Annotated[Number, Path(description="The number of a card.")]


def stranger_routes(service: Service) -> APIRouter:
    """Who was seen and has no name."""
    routes, people, deeds = APIRouter(tags=["strangers"]), service.people, service.deeds

    @routes.get("/strangers", responses=problems(422))
    async def list_strangers(hidden: Annotated[bool, Query()] = False) -> list[schemas.Stranger]:
        """One card for each stranger, the most often seen first; the ignored ones if wanted."""
        found = await call_home(service, lambda home: people.strangers(hidden=hidden))
        return [schemas.Stranger.of(card) for card in found]

    @routes.get(
        "/strangers/{card}/faces/{key}", response_class=Response, responses=png_or(404, 422)
    )
    async def picture(card: Card, key: Annotated[FaceKey, Path()]) -> Response:
        """One of the best faces of a stranger."""
        found = await call_home(service, lambda home: people.stranger(card))
        return Response(chosen(found, [key])[0].picture, media_type="image/png")

    @routes.post("/strangers/{card}/name", responses=problems(404, 409, 422))
    async def name(card: Card, new: schemas.NewStranger) -> schemas.Met:
        """Say who it is: the best faces, or the chosen ones, are taught, and the card is gone."""

        def act(home: Home) -> schemas.Met:
            taught, undo = deeds.name_stranger(home, card, new.name, new.faces)
            person = schemas.Person.model_validate(people.person(home, new.name))
            return schemas.Met(person=person, taught=taught, undo=undo)

        return await call_home(service, act)

    @routes.post("/strangers/{card}/ignore", status_code=204, responses=problems(404, 422))
    async def ignore(card: Card) -> None:
        """Hide a stranger, now and whenever they are seen again."""
        await call_home(service, lambda home: deeds.ignore(card))

    @routes.post("/strangers/{card}/show", status_code=204, responses=problems(404, 422))
    async def show(card: Card) -> None:
        """Take "ignore" back."""
        await call_home(service, lambda home: deeds.show(card))

    return routes
