"""Verbs: what the house can be asked to do, declared once for every surface.

This package is their door: surfaces and packs import from here.
"""

from sandbar.verbs.arguments import Arguments
from sandbar.verbs.base import base_catalogue, base_verbs
from sandbar.verbs.base.projects import EXPORT_URI, ZIP, project_home, zipped
from sandbar.verbs.catalogue import Catalogue, Example, Verb
from sandbar.verbs.class_tools import (
    ClassTool,
    class_of_tool,
    class_tool_schema,
    class_tools,
    is_class_tool_name,
    portable_keys,
)
from sandbar.verbs.context import Context
from sandbar.verbs.conversation import Content, Conversation, InputRequired
from sandbar.verbs.dispatch import dispatch, dispatch_again, dispatch_later
from sandbar.verbs.schemas import class_arguments, input_schema, output_schema
from sandbar.verbs.tasks import Started, Task, Tasks, acting

__all__ = [
    "EXPORT_URI",
    "ZIP",
    "Arguments",
    "Catalogue",
    "ClassTool",
    "Content",
    "Context",
    "Conversation",
    "Example",
    "InputRequired",
    "Started",
    "Task",
    "Tasks",
    "Verb",
    "acting",
    "base_catalogue",
    "base_verbs",
    "class_arguments",
    "class_of_tool",
    "class_tool_schema",
    "class_tools",
    "dispatch",
    "dispatch_again",
    "dispatch_later",
    "input_schema",
    "is_class_tool_name",
    "output_schema",
    "portable_keys",
    "project_home",
    "zipped",
]
