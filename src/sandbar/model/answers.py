"""What answers have in common: each is plain JSON by `dict(answer)`, for `json` and for FastAPI.

    json.dumps(answer, default=dict)

An answer remains a msgspec struct, made and encoded as quickly as any. So it inherits nothing of
`collections.abc`, whose metaclass would cost that; it has the methods, and is registered there.
Type checkers see the bases themselves.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, Sequence, ValuesView
from typing import TYPE_CHECKING, Any, TypeVar, overload

T = TypeVar("T")


class _Pydantic:
    """Lets FastAPI, and whatever else asks pydantic, take an answer as the type of a response."""

    __slots__ = ()

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> dict[str, Any]:
        """An instance of this very class, shown by `dict`."""
        del source, handler
        shown = {"type": "function-plain", "function": _plain}
        return {"type": "is-instance", "cls": cls, "serialization": shown}

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> dict[str, Any]:
        """An object: which slots it has is known to the database alone."""
        del schema, handler
        return {"type": "object", "title": cls.__name__}


def _plain(value: Any) -> Any:
    """An answer as plain JSON, and those that are in it."""
    if isinstance(value, Shown | SlotMapping):
        return {name: _plain(value[name]) for name in value.keys()}  # noqa: SIM118 - no iterable
    return [_plain(one) for one in value] if type(value) is list else value


class Shown(_Pydantic):
    """An answer whose `dict` has its members, by the names that they have in JSON."""

    __slots__ = ()
    __struct_fields__: tuple[str, ...]
    __struct_encode_fields__: tuple[str, ...]

    def keys(self) -> tuple[str, ...]:
        """The names of the members."""
        return self.__struct_encode_fields__

    def __getitem__(self, name: Any) -> Any:
        """A member by its name."""
        try:
            place = self.__struct_encode_fields__.index(name)
        except ValueError:
            raise KeyError(name) from None
        return getattr(self, self.__struct_fields__[place])


if TYPE_CHECKING:

    class SlotMapping(Mapping[str, Any]):
        """A read-only mapping over `slots`."""

        def __getitem__(self, slot: str) -> Any: ...
        def __iter__(self) -> Iterator[str]: ...
        def __len__(self) -> int: ...
        def get(self, slot: str, default: Any = None) -> Any:
            """The value of a slot, or something else if it has none."""

    class ItemSequence(Sequence[T]):
        """A read-only sequence over `items`; by a name it gives a member, for `dict`."""

        def keys(self) -> tuple[str, ...]:
            """The names of the members."""

        @overload
        def __getitem__(self, place: int) -> T: ...
        @overload
        def __getitem__(self, place: slice[Any, Any, Any]) -> list[T]: ...
        @overload
        def __getitem__(self, place: str) -> Any: ...
        def __getitem__(self, place: Any) -> Any: ...
        def __len__(self) -> int: ...

else:

    class SlotMapping(_Pydantic):
        """A read-only mapping over `slots`."""

        __slots__ = ()

        def __getitem__(self, slot: str) -> Any:
            return self.slots[slot]

        def __iter__(self) -> Iterator[str]:
            return iter(self.slots)

        def __len__(self) -> int:
            return len(self.slots)

        def __contains__(self, slot: object) -> bool:
            return slot in self.slots

        def keys(self) -> KeysView[str]:
            """The slots that have a value."""
            return self.slots.keys()

        def values(self) -> ValuesView[Any]:
            """The values of the slots."""
            return self.slots.values()

        def items(self) -> ItemsView[str, Any]:
            """Slots and values."""
            return self.slots.items()

        def get(self, slot: str, default: Any = None) -> Any:
            """The value of a slot, or something else if it has none."""
            return self.slots.get(slot, default)

    class ItemSequence(Shown):
        """A read-only sequence over `items`; by a name it gives a member, for `dict`."""

        __slots__ = ()

        def __class_getitem__(cls, item: object) -> type:
            del item
            return cls

        def __getitem__(self, place: Any) -> Any:
            return super().__getitem__(place) if type(place) is str else self.items[place]

        def __iter__(self) -> Iterator[Any]:
            return iter(self.items)

        def __len__(self) -> int:
            return len(self.items)

        def __contains__(self, item: object) -> bool:
            return item in self.items

        def __reversed__(self) -> Iterator[Any]:
            return reversed(self.items)

        def index(self, item: Any, *bounds: int) -> int:
            """The first place of an item."""
            return self.items.index(item, *bounds)

        def count(self, item: Any) -> int:
            """How often an item is there."""
            return self.items.count(item)

    Mapping.register(SlotMapping)
    Sequence.register(ItemSequence)
