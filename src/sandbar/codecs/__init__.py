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
from sandbar.codecs.conversion import meant_by
from sandbar.codecs.naming import OWN_NAMESPACES, derived_ident, ident_for_path, numbered
from sandbar.codecs.places import Place
from sandbar.codecs.registry import Codecs
from sandbar.codecs.sections import Section, sections_of
from sandbar.codecs.stating import stated_ident
from sandbar.codecs.unclassed import Key, UnclassedDocument, read_document

__all__ = [
    "BASE_CODECS",
    "OWN_NAMESPACES",
    "Codec",
    "Codecs",
    "Key",
    "Parsed",
    "Place",
    "Section",
    "UnclassedDocument",
    "base_codecs",
    "derived_ident",
    "emit_one",
    "ident_for_path",
    "meant_by",
    "numbered",
    "parse_one",
    "read_document",
    "sections_of",
    "stated_ident",
    "takes_bare_names",
    "with_whole_names",
]
