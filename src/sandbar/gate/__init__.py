"""The gate: what every HTTP request passes before anything looks at what it asks for.

Plain ASGI, because each layer runs for each request. From the outside in: `RequestId`,
`HeaderLimit`, `HostCheck`, `BodyLimit`, `SignIn`, `Recording`. Before them,
`sandbar.gate.connections` (not imported here: it needs uvicorn) limits what is no request yet, and
`sandbar.gate.capacity` how many connections each caller has.
"""

from sandbar.gate.bodies import BODY_BYTES_MAX, BodyLimit
from sandbar.gate.headers import HEADER_BYTES_MAX, HeaderLimit
from sandbar.gate.hosts import HostCheck
from sandbar.gate.recording import Recorder, Recording
from sandbar.gate.request_ids import RequestId
from sandbar.gate.signing_in import SignIn

__all__ = [
    "BODY_BYTES_MAX",
    "HEADER_BYTES_MAX",
    "BodyLimit",
    "HeaderLimit",
    "HostCheck",
    "Recorder",
    "Recording",
    "RequestId",
    "SignIn",
]
