"""The gate: what every HTTP request passes before anything looks at what it asks for.

Plain ASGI, because each layer runs for each request. From the outside in: `RequestId`,
`HeaderLimit`, `HostCheck`, `BodyLimit`, `SignIn`, `Recording`. Before them,
`sandbar.edge.connections` (not imported here: it needs uvicorn) limits what is no request yet, and
`sandbar.edge.capacity` how many connections each caller has.
"""

from sandbar.edge.answering import Recording
from sandbar.edge.bodies import BODY_BYTES_MAX, BodyLimit
from sandbar.edge.headers import HEADER_BYTES_MAX, HeaderLimit
from sandbar.edge.hosts import HostCheck
from sandbar.edge.recording import Recorder
from sandbar.edge.request_ids import RequestId
from sandbar.edge.signing_in import SignIn
from sandbar.edge.state import RequestState, state_of

__all__ = [
    "BODY_BYTES_MAX",
    "HEADER_BYTES_MAX",
    "BodyLimit",
    "HeaderLimit",
    "HostCheck",
    "Recorder",
    "Recording",
    "RequestId",
    "RequestState",
    "SignIn",
    "state_of",
]
