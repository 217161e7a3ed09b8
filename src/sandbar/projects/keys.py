"""Items to come back to, by their paths; there may be very many, so they are not kept in memory."""

from __future__ import annotations

from collections.abc import Container, Iterator
from itertools import islice

from sandbar.projects.sources import Item
from sandbar.scratch import Scratch, Table


class Keys:
    """Items that are known by their path, and in a bulk file by the line as well."""

    def __init__(self, scratch: Scratch) -> None:
        self._keys: Table[None] = scratch.table()
        self._paths: Table[None] = scratch.table()

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def paths(self) -> Container[str]:
        """The files of all that were ever added."""
        return self._paths

    def add(self, item: Item) -> None:
        """Come back to this one."""
        self._add(_key_of(item))

    def _add(self, key: str) -> None:
        self._keys[key] = None
        self._paths[_path_of(key)] = None

    def take(self, item: Item) -> bool:
        """Whether it was still to come back to; it is not any more."""
        key = _key_of(item)
        if key not in self._keys:
            return False
        del self._keys[key]
        return True

    def left(self) -> Iterator[str]:
        """The paths of those that nobody has taken, sorted."""
        return (_path_of(key) for key, _ in self._keys.items())

    def slices(self, size: int, into: Keys, *, is_backwards: bool) -> Iterator[None]:
        """Have some of them in `into`, then the next; along the paths or against them."""
        keys = self._keys.items(is_backwards=is_backwards)
        while some := list(islice(keys, size)):
            into.clear()
            for key, _ in some:
                into._add(key)
            yield

    def clear(self) -> None:
        """Forget all."""
        self._keys.clear()
        self._paths.clear()


def _key_of(item: Item) -> str:
    is_row = item.digest is None and item.parsed is not None
    return f"{item.path}\0{item.parsed.line}" if is_row and item.parsed else item.path


def _path_of(key: str) -> str:
    return key.partition("\0")[0]
