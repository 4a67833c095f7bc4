"""What was learned, durable: a database and snapshots in one folder. Needs numpy and scipy only."""

from onlooker.home.home import Home

__all__ = ["Home"]
