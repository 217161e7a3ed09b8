"""Codecs: entities as texts that people and programs read and write, and back.

This package is the only door; nobody imports its rooms. Parsing never writes and never reads
entities: the metamodel alone says what a text means.
"""

from sandbar.codecs.api import Codec, Parsed
from sandbar.codecs.base import (
    BASE_CODECS,
    base_codecs,
    emit_one,
    parse_one,
    takes_bare_names,
    with_whole_names,
)
from sandbar.codecs.naming import derived_ident
from sandbar.codecs.registry import Codecs
from sandbar.codecs.sections import Section, sections_of
from sandbar.codecs.unclassed import Key, UnclassedDocument, read_document

__all__ = [
    "BASE_CODECS",
    "Codec",
    "Codecs",
    "Key",
    "Parsed",
    "Section",
    "UnclassedDocument",
    "base_codecs",
    "derived_ident",
    "emit_one",
    "parse_one",
    "read_document",
    "sections_of",
    "takes_bare_names",
    "with_whole_names",
]
