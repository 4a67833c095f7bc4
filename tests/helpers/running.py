"""A real server on a free port of this computer, for the duration of a block."""

import threading
from contextlib import contextmanager

from helpers.waiting import DEADLINE, eventually
from onlooker.web.server import Server, listening_socket


@contextmanager
def serving(app, **options):
    """Serve an app at the address that is yielded."""
    with listening_socket("127.0.0.1", 0) as ours:
        port = ours.getsockname()[1]
        server = Server(app, before_shutdown=lambda: None, **options)
        thread = threading.Thread(target=server.run, args=([ours],))
        thread.start()
        try:
            eventually(lambda: server.started)
            yield f"{'https' if options else 'http'}://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            thread.join(DEADLINE)
            assert not thread.is_alive()
