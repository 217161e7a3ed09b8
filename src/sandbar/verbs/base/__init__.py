"""The verbs that every workspace has."""

from __future__ import annotations

from functools import cache

from sandbar.verbs.base import (
    audits,
    classes,
    codecs,
    deletion,
    keys,
    past,
    projects,
    reading,
    schema,
    tasks,
    transacting,
    types,
    validations,
    workflows,
    workspaces,
    writing,
)
from sandbar.verbs.catalogue import Catalogue, Verb

_GROUPS = (
    schema,
    classes,
    types,
    reading,
    writing,
    deletion,
    transacting,
    past,
    codecs,
    projects,
    workflows,
    tasks,
    validations,
    keys,
    workspaces,
    audits,
)


def base_verbs() -> tuple[Verb, ...]:
    """The verbs in the order in which they are listed."""
    return tuple(verb for group in _GROUPS for verb in group.VERBS)


@cache
def base_catalogue() -> Catalogue:
    """Their catalogue."""
    return Catalogue(base_verbs())
