"""Running the server: the port, the database, uvicorn, and an orderly end."""

from __future__ import annotations

import gc
import resource
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import structlog
import uvicorn
from rich.text import Text

from sandbar.access import install_access
from sandbar.app import make_app
from sandbar.cli.calling import opened
from sandbar.cli.logs import set_up_logs
from sandbar.cli.next_steps import say
from sandbar.cli.ports import take_port, url_at
from sandbar.database import Database
from sandbar.edge.capacity import CONNECTIONS_MAX, Capacity
from sandbar.edge.connections import Connection
from sandbar.edge.proxies import Proxies
from sandbar.settings import Settings
from sandbar.verbs import project_home

# Together with the writer's last batches the end takes five seconds at most.
_STREAMS_END_S = 3
# Longer than proxies keep theirs, so that it is they who hang up, never in mid-request.
_KEEP_ALIVE_S = 75
# How long one thread may go on while another wants its turn; 5 ms by default.
_SWITCH_S = 0.0005
# Files that are open besides connections: the database, its readers, the log.
_OTHER_FILES = 256

# What to say once the server is ready, of the database, the settings and the URL. It is made
# before, because on PostgreSQL nothing may be read on the event loop.
Greeting = Callable[[Database, Settings, str], list[Text]]


def run_server(settings: Settings, greeting: Greeting) -> None:
    """Serve until a signal comes; then end the streams, drain the writer and return."""
    set_up_logs(settings.log_level)
    log = structlog.get_logger("sandbar.serve")
    # The database first: if a server already runs on it, that explains the taken port as well.
    with (
        opened(settings, server=True) as database,
        closing(take_port(settings.host, settings.port)) as listening,
    ):
        install_access(database.workspace)
        database.allow_projects(settings.projects)
        for pack in settings.packs:
            report = database.load_pack(pack)
            log.info("pack loaded", pack=report.name, created=report.created)
        if settings.projects is not None:
            # Made at once, so that the operator sees which folder agents call theirs.
            home = project_home(
                Path(settings.projects), settings.workspace, database.workspace.number
            )
            log.info("folder for projects", folder=str(home))
        app = make_app(database, settings)

        class Served(Connection):
            say = staticmethod(app.usual.say)
            capacity = Capacity(_connections_max(), Proxies(settings.trusted_proxies))

        host, port = listening.getsockname()[:2]
        config = uvicorn.Config(
            app,
            loop="uvloop",
            http=Served,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,  # uvicorn's way to trust them; see --trusted-proxy
            timeout_keep_alive=_KEEP_ALIVE_S,
            timeout_graceful_shutdown=_STREAMS_END_S,
        )
        url = url_at(host, port)
        lines = greeting(database, settings, url)

        def ready() -> None:
            print(f"Sandbar is ready at {url}", flush=True)
            say(lines)
            log.info("ready", url=url, workspace=settings.workspace)

        _give_way_often()
        _Server(config, ready).run(sockets=[listening])
    log.info("stopped")


def _give_way_often() -> None:
    """Let no thread that computes keep the event loop waiting.

    A thread holds the interpreter for a whole interval when another asks for it, and answering one
    request asks about ten times. What was loaded at the start is never garbage: looking through it
    again and again is what would stop all threads for tens of milliseconds.
    """
    sys.setswitchinterval(_SWITCH_S)
    gc.collect()
    gc.freeze()


def _connections_max() -> int:
    """How many connections may be open; the database must never be the one that finds no file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CONNECTIONS_MAX + _OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return max(soft - _OTHER_FILES, soft // 2)
    return CONNECTIONS_MAX


class _Server(uvicorn.Server):
    """uvicorn, which tells when it is ready and leaves the end to us."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on a signal. uvicorn would raise it again, and so kill us before the writer ends."""
        for wanted in (signal.SIGINT, signal.SIGTERM):
            signal.signal(wanted, self.handle_exit)
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then say so."""
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams first: uvicorn would wait for them until it loses patience."""
        close_streams = self.lifespan.state.get("close_streams")
        if close_streams is not None:
            close_streams()
        await super().shutdown(sockets)
