"""Two-way sync of a folder of Markdown with the instances of a class; the door of `watch`.

Whoever changes something on one side finds it on the other. Nothing is ever overwritten that both
sides had not agreed on before: of two versions, one is kept beside the other.
"""

from sandbar.projects.sync.engine import Sync
from sandbar.projects.sync.events import SERIOUS, Event, Kind, Standing
from sandbar.projects.sync.watching import Watcher

__all__ = ["SERIOUS", "Event", "Kind", "Standing", "Sync", "Watcher"]
