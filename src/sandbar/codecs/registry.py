"""The codecs that there are, and which one is meant. Nothing changes in a registry once made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sandbar.codecs.api import Codec
from sandbar.errors import Conflict, Unsupported
from sandbar.model import Introspection
from sandbar.suggestions import did_you_mean

DEFAULT_FORMAT = "json"


class Codecs:
    """Codecs by format, by media type and by the suffix of file names."""

    def __init__(self, codecs: Sequence[Codec]) -> None:
        self._by_format: dict[str, Codec] = {}
        self._by_media_type: dict[str, Codec] = {}
        self._by_suffix: dict[str, Codec] = {}
        for codec in codecs:
            if codec.format in self._by_format:
                raise Conflict(
                    "codec.clash",
                    f"there is a codec {codec.format} already",
                    hint="give the format another name",
                )
            self._by_format[codec.format] = codec
            for media_type in codec.media_types:
                self._by_media_type.setdefault(media_type, codec)
            for suffix in codec.suffixes:
                self._by_suffix.setdefault(suffix, codec)

    def __iter__(self) -> Iterator[Codec]:
        return iter(self._by_format.values())

    def named(self, format: str) -> Codec:
        """The codec of a format."""
        codec = self._by_format.get(format)
        if codec is None:
            raise self._unknown(f"there is no codec {format[:80]}", format, self._by_format)
        return codec

    def of_media_type(self, text: str) -> Codec:
        """The codec of a media type, whatever its parameters (`text/markdown; charset=utf-8`)."""
        plain = text.partition(";")[0].strip().lower()
        codec = self._by_media_type.get(plain)
        if codec is None:
            message = f"there is no codec for the media type {plain[:80]}"
            raise self._unknown(message, plain, self._by_media_type)
        return codec

    def of_suffix(self, suffix: str) -> Codec | None:
        """The codec of files whose names end in this (`.md`), if there is one."""
        return self._by_suffix.get(suffix.lower())

    def native(self, schema: Introspection, class_: str) -> Codec:
        """The codec that a class is best written in: the one it names, else JSON.

        A class may name a codec of a pack that is not loaded here. Its instances can still be
        read and written, as JSON.
        """
        name = schema.native_codec(class_) or DEFAULT_FORMAT
        return self._by_format.get(name) or self.named(DEFAULT_FORMAT)

    def choose(
        self,
        schema: Introspection,
        class_: str | None,
        *,
        format: str | None = None,
        media_type: str | None = None,
    ) -> Codec:
        """The codec that is meant: by format, by media type, by the class, else JSON."""
        if format is not None:
            return self.named(format)
        if media_type is not None:
            return self.of_media_type(media_type)
        return self.named(DEFAULT_FORMAT) if class_ is None else self.native(schema, class_)

    def _unknown(self, message: str, given: str, known: dict[str, Codec]) -> Unsupported:
        near = did_you_mean(given, known)
        listed = f"codec.list lists the formats: {', '.join(self._by_format)}"
        return Unsupported("codec.unknown", message, hint=f"{near} {listed}" if near else listed)
