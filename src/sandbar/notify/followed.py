"""A workspace that somebody listens to, and up to where its listeners have been told."""

from __future__ import annotations

from collections.abc import Callable

from sandbar.faults import log_fault
from sandbar.model import Standing, Workspace
from sandbar.notify.news import Listener, News

_COMMITS_MAX = 100  # at a time, before other workspaces have their turn
_NO_EPOCH = -1  # of no workspace


class Told:
    """A listener, and where its workspace stood when it came."""

    def __init__(self, listener: Listener, since: Standing, leave: Callable[[Told], None]) -> None:
        self._listener = listener
        self._since = since
        self._leave = leave
        self._is_open = True

    def close(self) -> None:
        """Stop being told."""
        self._is_open = False
        self._leave(self)

    def tell(self, news: News, epoch: int) -> None:
        """Pass the news on, unless they are older than the subscription."""
        if not self._is_open or (epoch == self._since.epoch and news.t <= self._since.t):
            return
        try:
            self._listener(news)
        except BaseException as error:  # noqa: BLE001 - the others are told all the same
            log_fault("notify.listener-failed", error)


class Followed:
    """One workspace; all but `stir` is for the thread that follows it."""

    def __init__(self, name: str, workspace: Workspace, wake: Callable[[], None]) -> None:
        self.name = name
        self._workspace = workspace
        self.listeners: tuple[Told, ...] = ()  # replaced whole by whoever comes or goes
        self.is_stirred = False
        self._wake = wake
        self._watch = workspace.watch(self.stir)
        self.poll_s = self._watch.poll_s
        try:
            self.told = workspace.standing()
        except BaseException:
            self.close()
            raise

    def stir(self) -> None:
        """Have it looked at; called on the writer's thread after a commit."""
        self.is_stirred = True
        self._wake()

    def close(self) -> None:
        """Follow it no more."""
        self._watch.close()

    def advance(self) -> bool:
        """Tell what has been committed since; True if there is more to tell."""
        now = self._workspace.standing()
        if now == self.told:
            return False
        if now.epoch != self.told.epoch or now.t < self.told.t:
            self._tell_all(now)
            return False
        commits = self._workspace.commits(self.told, limit=_COMMITS_MAX)
        for commit in commits:
            self.told = Standing(commit.t, now.epoch)
            self._tell(
                News(self.name, commit.t, commit.is_schema, commit.entities, commit.is_partial)
            )
        return bool(commits) and self.told.t < now.t

    def skip(self) -> None:
        """What has been committed cannot be read: tell at least that it has."""
        now = self._workspace.standing()
        if now != self.told:
            self._tell_all(now)

    def bury(self) -> None:
        """The workspace has been deleted: tell that nothing is as it was."""
        self._tell_all(Standing(0, _NO_EPOCH))

    def _tell_all(self, now: Standing) -> None:
        self.told = now
        self._tell(News(self.name, now.t, is_schema=True, entities=(), is_partial=True))

    def _tell(self, news: News) -> None:
        for listener in self.listeners:
            listener.tell(news, self.told.epoch)
