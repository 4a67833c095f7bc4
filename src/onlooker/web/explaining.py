"""Why a face gets its name, with the pictures and names of those on the way."""

from numpy.typing import ArrayLike

from onlooker.home.home import Home
from onlooker.web.answers import Why
from onlooker.web.people import People


def explained(people: People, home: Home, vector: ArrayLike) -> Why:
    """Why, in the thread that owns the home."""
    why = home.explain(vector)
    return Why.of(why, people.names_of_vertices(home), set(home.album.vertices()))
