"""Taking a port to listen on, and saying why it could not be had."""

from __future__ import annotations

import errno
import socket

from sandbar.errors import Incorrect, Problem, Unavailable

_BACKLOG = 2048
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}


def take_port(host: str, port: int) -> socket.socket:
    """A socket that listens there; port 0 takes any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except (OSError, UnicodeError) as error:
        raise _problem(host, port, error) from error


def reached(host: str) -> str:
    """The address at which this machine reaches what listens there."""
    return _EVERYWHERE.get(host, host)


def url_at(host: str, port: int) -> str:
    """The URL of a server that listens there, for clients on this machine."""
    host = reached(host)
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/mcp"


def is_everywhere(host: str) -> bool:
    """Whether a server that listens there does so on every address of the machine."""
    return host in _EVERYWHERE


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
