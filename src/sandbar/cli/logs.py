"""The program's log: JSON lines, or colours on a terminal, always on stderr.

Never secrets, arguments or results. An exception's own words and the messages of libraries may
quote them, so neither is written: of an exception its kind and where it passed, of a library's
message who said it and where.
"""

from __future__ import annotations

import logging
import sys
import traceback
from typing import Any

import structlog
from structlog.stdlib import ProcessorFormatter
from structlog.typing import EventDict, Processor

_OURS = ("sandbar", "uvicorn.error")  # their messages are known to quote nothing
_FRAMES_MAX = 12


def set_up_logs(level: str) -> None:
    """Send everything that is logged, ours and the libraries', to stderr in one form."""
    is_terminal = sys.stderr.isatty()
    shared: list[Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _discreet,
    ]
    last: Processor = (
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
        if is_terminal
        else structlog.processors.JSONRenderer()
    )
    formatter = ProcessorFormatter(
        foreign_pre_chain=shared, processors=[ProcessorFormatter.remove_processors_meta, last]
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("sandbar").setLevel(level.upper())
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def _discreet(logger: Any, method: str, event: EventDict) -> EventDict:
    """The entry without anything that could quote a request."""
    del logger, method
    record: logging.LogRecord | None = event.get("_record")
    caught = event.pop("exc_info", None) or (record.exc_info if record else None)
    error = sys.exc_info()[1] if caught is True else caught
    error = error[1] if isinstance(error, tuple) else error
    if isinstance(error, BaseException):
        event["error"] = type(error).__name__
        event["passed"] = _places(error)
    if record is not None:
        record.exc_info = record.exc_text = None
        if not record.name.startswith(_OURS):
            event["event"] = f"a message of {record.name}"
            event["place"] = f"{record.filename}:{record.lineno}"
            event.pop("positional_args", None)
    return event


def _places(error: BaseException) -> list[str]:
    """Where an exception passed, innermost last."""
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES_MAX:]
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
