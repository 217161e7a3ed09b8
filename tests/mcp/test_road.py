"""The road from the socket to the verb: how many frames of ours, look-ups, encodings and threads.

The figures are those of issue 21; `python -m tests.mcp.test_road` prints the frames.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import anyio.to_thread
import pytest

import sandbar
from sandbar.mcp import wire
from sandbar.store.sqlite.store import SqliteStore
from sandbar.verbs.catalogue import Catalogue
from tests.mcp.served import Served, serving

FRAMES_MAX = 15
SOURCE = str(Path(sandbar.__file__).parent)
FIND = {"name": "sandbar.entity.find", "arguments": {"entity": "product/mud-lord"}}
BOOT = {"footwear/name": "Puddle", "footwear/size": "M", "footwear/price": "12.00"}


def frames_of_ours(frame: FrameType | None) -> list[str]:
    """Who has called whom, outermost first, as far as it is our code."""
    found = []
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(SOURCE):
            file = code.co_filename.removeprefix(SOURCE).strip("/")
            found.append(f"{file}: {code.co_qualname}")
        frame = frame.f_back
    return found[::-1]


@contextmanager
def watched(owner: Any, name: str, seen: Callable[[], object]) -> Iterator[None]:
    """Meanwhile `seen` is called whenever this method is."""
    with pytest.MonkeyPatch.context() as patch:
        inner = getattr(owner, name)

        def noted(*args: Any, **kwargs: Any) -> Any:
            seen()
            return inner(*args, **kwargs)

        patch.setattr(owner, name, noted)
        yield


def frames_of_a_find(served: Served) -> list[str]:
    """From ASGI to the statement that reads the entity."""
    roads: list[list[str]] = []

    def look() -> None:
        road = frames_of_ours(sys._getframe(2))
        if any("reading" in one for one in road):
            roads.append(road)

    served.post("tools/call", FIND)  # whatever is made once is made now
    with watched(SqliteStore, "_one_row", look):
        served.post("tools/call", FIND)
    (road,) = roads
    return road


def test_a_find_passes_few_frames(served: Served) -> None:
    road = frames_of_a_find(served)
    assert len(road) <= FRAMES_MAX, "\n".join(road)


def test_a_find_looks_the_verb_up_once(served: Served) -> None:
    looks: list[str] = []
    served.post("tools/call", FIND)
    catalogue = served.db.catalogue
    with (
        watched(catalogue, "at_hand", lambda: looks.append("at hand")),
        watched(Catalogue, "find", lambda: looks.append("find")),
    ):
        served.post("tools/call", FIND)
    assert looks == ["at hand"]


def test_a_result_is_encoded_once(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once by us; the envelope, which holds it as text and as it is, is the second call."""
    calls: list[type] = []
    encode = wire.json_encode

    def noted(value: Any) -> bytes:
        calls.append(type(value))
        return encode(value)

    for name, module in list(sys.modules.items()):
        if name.startswith("sandbar.mcp.") and getattr(module, "json_encode", None) is encode:
            monkeypatch.setattr(module, "json_encode", noted)
    served.post("tools/call", FIND)
    assert [kind.__name__ for kind in calls] == ["Found", "dict"]


def test_a_create_takes_no_thread_but_the_writers(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = {"class": "zorp/Boot", "attributes": BOOT}
    call = {"name": "sandbar.entity.create", "arguments": arguments}
    served.post("tools/call", call)
    threads: list[object] = []
    run_sync = anyio.to_thread.run_sync

    async def noted(work: Any, *args: Any, **kwargs: Any) -> Any:
        threads.append(work)
        return await run_sync(work, *args, **kwargs)

    monkeypatch.setattr(anyio.to_thread, "run_sync", noted)
    answer = served.post("tools/call", call)
    assert answer["result"]["structuredContent"]["created"]
    assert threads == []
    # The control: what takes its time does take a thread, and is noticed.
    served.post("tools/call", {"name": "sandbar.schema.classes", "arguments": {}})
    assert threads != []


def main() -> None:
    """Print the frames of a find."""
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder) / "road.db") as served:
        road = frames_of_a_find(served)
    lines = [f"{len(road)} frames of ours, from ASGI to SQL:"]
    lines += [f"  {n:2} {one}" for n, one in enumerate(road, 1)]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
