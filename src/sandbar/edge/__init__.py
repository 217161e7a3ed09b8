"""The edge: what every HTTP request passes before a surface looks at what it asks for.

It knows no wire format: a surface brings its application and how it says a `Problem`. `Edge` asks
the questions, in one application; `sandbar.edge.connections` (not imported here: it needs uvicorn)
limits what is no request yet. Below the surfaces stand as well the threads that work under a
deadline (`runner`) and the news of commits (`streams`).
"""

from sandbar.edge.bodies import BODY_BYTES_MAX
from sandbar.edge.edge import Edge
from sandbar.edge.headers import HEADER_BYTES_MAX
from sandbar.edge.health import Health
from sandbar.edge.hosts import Hosts
from sandbar.edge.recording import Record, Recorder
from sandbar.edge.refusing import STATUSES, defect, status_of
from sandbar.edge.signing_in import Authenticator
from sandbar.edge.state import RequestState, state_of
from sandbar.edge.surfaces import Refusal, Routes, Surface

__all__ = [
    "BODY_BYTES_MAX",
    "HEADER_BYTES_MAX",
    "STATUSES",
    "Authenticator",
    "Edge",
    "Health",
    "Hosts",
    "Record",
    "Recorder",
    "Refusal",
    "RequestState",
    "Routes",
    "Surface",
    "defect",
    "state_of",
    "status_of",
]
