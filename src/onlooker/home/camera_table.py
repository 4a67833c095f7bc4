"""The cameras that were added while a service ran: they are watched again after a restart."""

from onlooker.home.database import Database, row_crc


class CameraTable:
    """Camera names and their sources, which may contain passwords.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     database = Database(Path(folder, "onlooker.db"))
    ...     database.upgrade()
    ...     cameras = CameraTable(database)
    ...     cameras.add("door", "rtsp://10.0.0.5/1")
    ...     cameras.sources()
    {'door': 'rtsp://10.0.0.5/1'}
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def sources(self) -> dict[str, str]:
        """The source of each camera, in the order they were added; damaged rows are left out."""
        rows = self._database.query("SELECT name, source, crc FROM cameras ORDER BY rowid")
        return {name: source for name, source, crc in rows if row_crc((name, source)) == crc}

    def damaged(self) -> int:
        """How many cameras are damaged, and so are not watched."""
        count: int = self._database.query("SELECT count(*) FROM cameras")[0][0]
        return count - len(self.sources())

    def add(self, name: str, source: str) -> None:
        """Store a camera; durable on return."""
        with self._database.transaction():
            self.remove(name)
            row = name, source, row_crc((name, source))
            self._database.execute("INSERT INTO cameras VALUES (?, ?, ?)", row)

    def remove(self, name: str) -> None:
        """Delete a camera, if it is stored."""
        with self._database.transaction():
            self._database.execute("DELETE FROM cameras WHERE name = ?", (name,))
