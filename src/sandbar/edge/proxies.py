"""Whose address counts: the peer's, or the one that a proxy which we trust tells us of."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

_HEADER = b"x-forwarded-for"
_IPV6_PREFIX_BITS = 64  # the least that a customer of a provider gets

Address = IPv4Address | IPv6Address


class Proxies:
    """The proxies in front of us, given as addresses or networks (CIDR)."""

    def __init__(self, networks: Iterable[str] = ()) -> None:
        self._networks = [ip_network(one, strict=False) for one in networks]

    def is_trusted(self, peer: str) -> bool:
        """Whether a peer's word counts for whom it speaks."""
        return bool(self._networks) and self._has(address_of(peer))

    def caller(self, peer: str, headers: Iterable[tuple[bytes, bytes]]) -> str:
        """The address that a trusted peer speaks for.

        Every proxy adds at the end whom it heard, so the last hop that is no proxy of ours is the
        caller. What stands before it is the caller's own word and does not count.
        """
        told = b",".join(value for name, value in headers if name == _HEADER).decode("latin-1")
        nearest = peer
        for hop in reversed(told.split(",")):
            address = address_of(_without_port(hop.strip()))
            if address is None:
                break
            nearest = str(address)
            if not self._has(address):
                break
        return nearest

    def _has(self, address: Address | None) -> bool:
        return address is not None and any(address in network for network in self._networks)


@lru_cache(4096)
def address_of(text: str) -> Address | None:
    """An address; None if it is none. One of IPv4 that is written as IPv6 is one of IPv4."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


@lru_cache(4096)
def neighbourhood(text: str) -> str:
    """What counts as one address: of IPv6 a network, since everybody there has billions."""
    address = address_of(text)
    if isinstance(address, IPv6Address):
        return str(IPv6Network((address, _IPV6_PREFIX_BITS), strict=False))
    return text if address is None else str(address)


def _without_port(hop: str) -> str:
    """Some proxies write `1.2.3.4:5678` or `[::1]:5678`."""
    if hop.startswith("["):
        return hop[1:].partition("]")[0]
    return hop.partition(":")[0] if hop.count(":") == 1 else hop
