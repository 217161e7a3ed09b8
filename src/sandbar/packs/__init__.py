"""Packs: domains that are loaded into a workspace from a folder of data.

A pack is a folder with a `pack.json` (name, title, description) and any of `schema.json`
(properties and classes), `entities.json` (seed entities with idents), `prompts.json` and
`workflows.json`. Loading one twice changes nothing; loading a newer version brings its definitions,
prompts and workflows up to date.
What a pack can do in Python comes with Sandbar or an installed distribution, never with a folder.
"""

from sandbar.packs.coded import (
    PackCode,
    PackEndpoint,
    PackResource,
    PackTemplate,
    PromptMessages,
    code_of,
    known_endpoints,
)
from sandbar.packs.folders import Manifest, available_packs, built_in_packs
from sandbar.packs.loading import PackReport, Progress, load_pack
from sandbar.packs.messages import PromptArgument
from sandbar.packs.prompting import Prompt, complete_argument, get_prompt, prompts, render_prompt
from sandbar.packs.records import PackRecord, loaded_packs, pack_records
from sandbar.packs.workflow_prompts import (
    SUBJECT_ARGUMENT,
    render_workflow,
    workflow_of_prompt,
    workflow_prompts,
)

__all__ = [
    "SUBJECT_ARGUMENT",
    "Manifest",
    "PackCode",
    "PackEndpoint",
    "PackRecord",
    "PackReport",
    "PackResource",
    "PackTemplate",
    "Progress",
    "Prompt",
    "PromptArgument",
    "PromptMessages",
    "available_packs",
    "built_in_packs",
    "code_of",
    "complete_argument",
    "get_prompt",
    "known_endpoints",
    "load_pack",
    "loaded_packs",
    "pack_records",
    "prompts",
    "render_prompt",
    "render_workflow",
    "workflow_of_prompt",
    "workflow_prompts",
]
