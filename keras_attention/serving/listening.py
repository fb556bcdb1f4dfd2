"""The socket that a server listens on; no TensorFlow, so that a taken port is told at once."""

from __future__ import annotations

import ipaddress
import socket
import sys

from keras_attention.errors import UserError

BACKLOG = 2048


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; who connects before the server runs waits.

    Only listening tells whether a port is free: two sockets may be bound to one.

    Raises:
        UserError: the address is none of this machine's, or cannot be used.
    """
    try:
        family, *_, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError, OverflowError):
        raise UserError(f"--host: {host} is no address of this machine; use 127.0.0.1") from None
    # asyncio sends small answers at once (TCP_NODELAY) only where the protocol is named.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if sys.platform == "win32":  # where SO_REUSEADDR would take the port from its owner
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise UserError(
            f"--port: cannot listen at {host} port {port}: {error.strerror}; choose another with "
            "--port"
        ) from None
    return listening


def url_of(listening: socket.socket, host: str) -> str:
    """The address of a server as a browser takes it."""
    return f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}/"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens at `host`."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
