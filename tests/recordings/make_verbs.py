"""Makes `verbs.json` from the catalogue: the verbs, their spellings, examples and arguments.

    python -m tests.recordings.make_verbs

It is the only part of the tool that imports the program, and is run by hand when a verb has come.
"""

from __future__ import annotations

import json
from pathlib import Path

from sandbar.verbs import base_verbs

FILE = Path(__file__).with_name("verbs.json")


def main() -> None:
    """Write the file."""
    verbs = [
        {
            "name": verb.name,
            "access": verb.access,
            "examples": [one.arguments for one in verb.examples],
            "arguments": verb.takes["properties"],
            "required": verb.takes.get("required", []),
        }
        for verb in base_verbs()
    ]
    FILE.write_text(json.dumps(verbs, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
