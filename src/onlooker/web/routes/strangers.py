"""Strangers: one card each, to be asked about, named or ignored."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from fastapi.concurrency import run_in_threadpool

from onlooker.strangers.cards import chosen_faces
from onlooker.web.responses import png_or, problems
from onlooker.web.schemas import (
    AnswerTaken,
    AskRequest,
    FaceKey,
    JoinedStrangers,
    NamedStranger,
    NotThisName,
    Number,
    SamePersonRow,
    StrangerCards,
    StrangerName,
    StrangerRow,
    StrangersName,
)
from onlooker.web.service import Service

Limit = Annotated[int, Query(ge=1, le=1000, description="How many at most.")]
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

    @routes.get("/questions", responses=problems(422))
    async def questions(limit: Limit = 100) -> list[StrangerRow]:
        """The strangers to ask about, the best question first; none if there is nothing to ask.

        Where there is a candidate: is this the candidate? The one whose answer would settle most,
        then the most often seen. Then, of the others: who is this? To answer, name the stranger,
        say who it is not, or set `ask`.
        """
        found = await call(lambda home: people.questions_later(home, limit))
        questions_found = await run_in_threadpool(found)
        return [StrangerRow.of(card, learned) for card, learned in questions_found]

    @routes.get(
        "/strangers/{card}/faces/{key}", response_class=Response, responses=png_or(404, 422)
    )
    async def picture(card: CardPath, key: Annotated[FaceKey, Path()]) -> Response:
        """One of the best faces of a stranger."""
        found = await call(lambda home: people.stranger(card))
        return Response(chosen_faces(found, [key])[0].picture, media_type="image/png")

    @routes.post("/strangers/{card}/name", responses=problems(404, 409, 422))
    async def name(card: CardPath, new: StrangerName) -> NamedStranger:
        """Say who it is: the best faces, or the chosen ones, are taught; the card is deleted.

        `learned`: faces of this person that Onlooker named itself and that are right; they become
        labeled ones.
        """
        return await call(
            lambda home: people.name_stranger(home, card, new.name, new.faces, new.learned)
        )

    @routes.get("/strangers/same", responses=problems(422))
    async def same_person() -> list[SamePersonRow]:
        """Which cards may be the same person as another card, or as somebody known, and why."""
        found = await call(lambda home: people.same_person())
        return [SamePersonRow.model_validate(pair) for pair in found]

    @routes.post("/strangers/name", responses=problems(404, 409, 422))
    async def name_all(new: StrangersName) -> NamedStranger:
        """Say who several strangers are, who are one person: all or none, undone at once."""
        return await call(lambda home: people.name_strangers(home, new.cards, new.name))

    @routes.post("/strangers/join", responses=problems(404, 422))
    async def join(chosen: StrangerCards) -> JoinedStrangers:
        """Several cards are one person, whoever it is: the oldest has all of them now."""
        return await call(lambda home: people.join_strangers(home, chosen.cards))

    @routes.post("/strangers/ignore", responses=problems(404, 422))
    async def ignore_all(chosen: StrangerCards) -> AnswerTaken:
        """Hide several strangers, all or none of them."""
        return await call(lambda home: people.ignore_strangers(home, chosen.cards))

    @routes.post("/strangers/{card}/not", responses=problems(404, 409, 422))
    async def exclude(card: CardPath, who: NotThisName) -> AnswerTaken:
        """Say who it is not: its faces are taught so, and the question is not asked again."""
        return await call(lambda home: people.exclude_stranger(home, card, who.name))

    @routes.post("/strangers/{card}/ask", responses=problems(404, 422))
    async def ask(card: CardPath, whether: AskRequest) -> AnswerTaken:
        """Do not ask about this stranger, or ask again."""
        return await call(lambda home: people.set_ask(home, card, whether.ask))

    @routes.post("/strangers/{card}/ignore", responses=problems(404, 422))
    async def ignore(card: CardPath) -> AnswerTaken:
        """Hide a stranger, now and whenever they are seen again; its best faces are nobody."""
        return await call(lambda home: people.ignore(home, card))

    @routes.post("/strangers/{card}/show", responses=problems(404, 422))
    async def show(card: CardPath) -> AnswerTaken:
        """Show an ignored stranger again; its faces are not nobody any more."""
        return await call(lambda home: people.show(home, card))

    return routes
