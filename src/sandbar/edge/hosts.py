"""Host and Origin: a page in somebody's browser must not reach a server on their machine.

A name that an attacker points at 127.0.0.1 arrives as a foreign Host, the script of a foreign page
brings a foreign Origin. Loopback names are always allowed, with any port.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from sandbar.edge.asgi import Headers
from sandbar.errors import Forbidden, Incorrect

_HINT = "name it with `sandbar serve --allowed-host` or `--public-url` if it is yours"
_ONCE = "send one Host, and at most one Origin"
LOOPBACK = ("localhost", "127.0.0.1", "::1")
_DEFAULT_PORTS = {"http": 80, "https": 443}

_Place = tuple[str, int | None]  # a name, and the port if only that one is meant


class Hosts:
    """Refuses requests that were not meant for this server, or come from a foreign page."""

    def __init__(
        self,
        *,
        allowed_hosts: Iterable[str] = (),
        allowed_origins: Iterable[str] = (),
        public_url: str | None = None,
    ) -> None:
        hosts = [*LOOPBACK, *allowed_hosts]
        if public_url is not None:
            hosts.append(urlsplit(public_url).netloc)
        self._hosts = {place for host in hosts if (place := _place(host)) is not None}
        self._origins = {origin.rstrip("/").lower() for origin in allowed_origins}
        self._known: set[bytes] = set()  # spellings that have been found good

    def check(self, headers: Headers) -> None:
        """Refuse a head that names another host, or comes from a foreign page."""
        hosts = [value for name, value in headers if name == b"host"]
        origins = [value for name, value in headers if name == b"origin"]
        if len(hosts) > 1 or len(origins) > 1:
            # Whoever is in front of us may have judged by the other one.
            raise Incorrect("gate.repeated", "Host or Origin is repeated", hint=_ONCE)
        if not hosts or not self._is_ours(hosts[0]):
            raise Incorrect("gate.host", "this Host is not served here", hint=_HINT)
        if origins and not self._is_welcome(origins[0]):
            raise Forbidden("gate.origin", "this Origin is not allowed", hint=_HINT)

    def _is_ours(self, host: bytes) -> bool:
        if host in self._known:
            return True
        place = _place(host.decode("latin-1"))
        is_ours = place is not None and (place in self._hosts or (place[0], None) in self._hosts)
        if is_ours and len(self._known) < 100:
            self._known.add(host)
        return is_ours

    def _is_welcome(self, origin: bytes) -> bool:
        text = origin.decode("latin-1").lower()
        if text in self._origins:
            return True
        try:
            parts = urlsplit(text)
        except ValueError:
            return False
        if parts.scheme not in _DEFAULT_PORTS or parts.path or parts.query:
            return False
        place = _place(parts.netloc)
        if place is None:
            return False
        name, port = place
        if port is None:
            port = _DEFAULT_PORTS[parts.scheme]
        return (name, port) in self._hosts or (name, None) in self._hosts


def _place(host: str) -> _Place | None:
    """The name and port of `name`, `name:port`, `[::1]:port` or `::1`; None if it is neither."""
    if host.count(":") > 1 and not host.startswith("["):
        host = f"[{host}]"
    try:
        parts = urlsplit(f"//{host.strip()}")
        name, port = parts.hostname, parts.port
    except ValueError:
        return None
    if name is None or parts.username is not None or parts.path or parts.query or parts.fragment:
        return None
    return name.rstrip("."), port
