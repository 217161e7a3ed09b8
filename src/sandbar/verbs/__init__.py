"""Verbs: what the house can be asked to do, declared once for every surface.

This package is their door: surfaces and packs import from here.
"""

from sandbar.verbs.arguments import Arguments
from sandbar.verbs.base import base_catalogue, base_verbs
from sandbar.verbs.base.projects import AS_ZIP, EXPORT_URI, ZIP, project_home
from sandbar.verbs.base.task_methods import TASK_METHODS
from sandbar.verbs.base.tasks import TaskList
from sandbar.verbs.base.workspaces import UsageAnswer
from sandbar.verbs.calls import Call
from sandbar.verbs.catalogue import PREFIX, Catalogue, Example, Permission, Verb, Verbs
from sandbar.verbs.channel import Channel, nobody_to_ask
from sandbar.verbs.class_tools import (
    ClassTool,
    class_of_tool,
    class_tool_schema,
    class_tools,
    is_class_tool_name,
    portable_keys,
)
from sandbar.verbs.class_verbs import CLASS_TOOLS, class_verb
from sandbar.verbs.content import (
    Attached,
    Audio,
    Content,
    File,
    Image,
    Link,
    NeedsInput,
    Part,
    Text,
    Verbatim,
)
from sandbar.verbs.context import Context
from sandbar.verbs.dispatch import Begun, dispatch, explain
from sandbar.verbs.tasks import Started, Task, Tasks, replies_in

__all__ = [
    "AS_ZIP",
    "CLASS_TOOLS",
    "EXPORT_URI",
    "PREFIX",
    "TASK_METHODS",
    "ZIP",
    "Arguments",
    "Attached",
    "Audio",
    "Begun",
    "Call",
    "Catalogue",
    "Channel",
    "ClassTool",
    "Content",
    "Context",
    "Example",
    "File",
    "Image",
    "Link",
    "NeedsInput",
    "Part",
    "Permission",
    "Started",
    "Task",
    "TaskList",
    "Tasks",
    "Text",
    "UsageAnswer",
    "Verb",
    "Verbatim",
    "Verbs",
    "base_catalogue",
    "base_verbs",
    "class_of_tool",
    "class_tool_schema",
    "class_tools",
    "class_verb",
    "dispatch",
    "explain",
    "is_class_tool_name",
    "nobody_to_ask",
    "portable_keys",
    "project_home",
    "replies_in",
]
