"""What whoever changes entities by and by needs of a workspace: jobs, as part of a transaction."""

from __future__ import annotations

from sandbar.model.writes import Writes
from sandbar.store import Claim, JobQueue


class Jobs:
    """The jobs of one workspace, from inside a transaction; a `JobQueue` hands them out."""

    def __init__(self, writes: Writes) -> None:
        self._writes = writes

    def schedule(self, entity_id: int, due_us: int | None) -> None:
        """Inside `run`: the entity's job is due then, and nobody's; None: it has none any more."""
        self._writes.open_transaction().schedule(entity_id, due_us)

    def require(self, entity_id: int, token: int) -> None:
        """Inside `run`: go on only if the job is still held under this token, and stays so."""
        self._writes.open_transaction().require_job(entity_id, token)

    def require_free(self, entity_id: int) -> None:
        """Inside `run`: go on only if nobody holds the job, and nobody will meanwhile."""
        self._writes.open_transaction().require_free_job(entity_id)


__all__ = ["Claim", "JobQueue", "Jobs"]
