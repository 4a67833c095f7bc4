"""TCP ports of this computer."""

import socket


def free_port():
    """A port of the loopback address that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as any_port:
        return any_port.getsockname()[1]
