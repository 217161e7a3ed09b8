"""Results that are made of parts: their JSON is what tasks keep and MCP writes."""

from __future__ import annotations

from sandbar.verbs import Attached, Audio, Content, File, Image, Link, Part, Text


def test_every_part_has_the_json_that_clients_know() -> None:
    parts: list[Part] = [
        Text("hi"),
        Image(b"\x01", "image/png"),
        Audio(b"\x02", "audio/wav"),
        Attached(File("a:b", "text/plain", "words")),
        Attached(File("a:c", "application/zip", blob=b"\x03")),
        Link("a:d", "d", mime_type="text/plain"),
    ]
    assert Content(parts).blocks == [
        {"type": "text", "text": "hi"},
        {"type": "image", "data": "AQ==", "mimeType": "image/png"},
        {"type": "audio", "data": "Ag==", "mimeType": "audio/wav"},
        {
            "type": "resource",
            "resource": {"uri": "a:b", "mimeType": "text/plain", "text": "words"},
        },
        {
            "type": "resource",
            "resource": {"uri": "a:c", "mimeType": "application/zip", "blob": "Aw=="},
        },
        {"type": "resource_link", "uri": "a:d", "name": "d", "mimeType": "text/plain"},
    ]
