"""Taking a port to listen on, and saying why it could not be had."""

from __future__ import annotations

import errno
import socket

from sandbar.errors import Incorrect, Problem, Unavailable

_BACKLOG = 2048


def take_port(host: str, port: int) -> socket.socket:
    """A socket that listens there; port 0 takes any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except (OSError, UnicodeError) as error:
        raise _problem(host, port, error) from error


def address_of(taken: socket.socket) -> tuple[str, int]:
    """The host and the port of a socket; an IPv6 host as it stands in a URL."""
    host, port = taken.getsockname()[:2]
    return f"[{host}]" if ":" in host else str(host), int(port)


def _problem(host: str, port: int, error: Exception) -> Problem:
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        return Unavailable(
            "serve.port-in-use",
            f"port {port} on {host} is in use by another program",
            hint=f"stop that program, or choose another port, such as --port {port + 1}; 0 takes"
            " any that is free",
        )
    reason = getattr(error, "strerror", None) or str(error)
    return Incorrect(
        "serve.cannot-listen",
        f"cannot listen on {host}, port {port}: {reason}",
        hint="--host takes an address of this machine, such as 127.0.0.1 or 0.0.0.0; ports below"
        " 1024 need privileges",
    )
