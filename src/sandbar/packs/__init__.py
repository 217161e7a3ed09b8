"""Packs: domains that are loaded into a workspace from a folder of data.

A pack is a folder with a `pack.json` (name, title, description) and any of `schema.json`
(properties and classes) and `entities.json` (seed entities with idents). Loading one twice changes
nothing; loading a newer version brings its definitions up to date.
"""

from sandbar.packs.loading import PackReport, built_in_packs, load_pack

__all__ = ["PackReport", "built_in_packs", "load_pack"]
