"""The malformed requests of `tests/malformed`, as they are sent there, and whatever is answered."""

from __future__ import annotations

from tests.malformed import sending
from tests.malformed.test_corpus import RUNS
from tests.recordings.places import Place
from tests.recordings.scene import Scene


def record_corpus(place: Place) -> Scene:
    """Each case in each of its lanes."""
    with Scene(place, "malformed", ["zorp"]) as scene:
        opened = scene.session("beginning", scene.writer)
        door = sending.Door("127.0.0.1", scene.server.port, str(opened.token), opened.session)
        for case, lane in RUNS:
            request = sending.request_bytes(case, lane, door)
            scene.send(f"{lane}: {case.name}", request, case.verb, events=1)
    return scene
