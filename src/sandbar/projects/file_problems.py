"""What can be wrong with a file or folder that is opened, in words of ours."""

from __future__ import annotations

import errno

from sandbar.errors import Conflict, Forbidden, NotFound, Problem, Unavailable


def link(path: str) -> Forbidden:
    """A link, which is not followed."""
    return Forbidden(
        "project.link",
        f"{path} is a symbolic link",
        hint="links are not followed: put the file itself there",
    )


def no_file(path: str) -> Forbidden:
    """A pipe, a device, a folder."""
    return Forbidden(
        "project.no-file", f"{path} is no regular file", hint="only files and folders are read"
    )


def nowhere(name: str, within: str | None) -> NotFound:
    """Somebody has named what is not there."""
    hint = "look at the path; one that does not begin with / is taken from the current folder"
    if within is not None:
        hint = (
            f"paths are taken from {within} on, a folder below that of `sandbar serve --projects`"
        )
    return NotFound("project.gone", f"there is no folder or file {name}", hint=hint)


def refusal(path: str, error: OSError) -> Problem:
    """What the system says, in words of ours."""
    if error.errno == errno.ELOOP:
        return link(path)
    if error.errno == errno.ENOTDIR:
        return Conflict(
            "project.not-a-folder",
            f"{path} leads through something that is no folder",
            hint="links are not followed: name a folder that is one itself",
        )
    if error.errno == errno.ENOENT:
        return NotFound(
            "project.gone", f"there is no {path}", hint="was it removed or renamed meanwhile?"
        )
    if error.errno == errno.EACCES:
        return Forbidden(
            "project.no-access",
            f"{path} cannot be opened: {error.strerror}",
            hint="let the server's user read it (and write there, to export)",
        )
    return Unavailable(
        "project.unreadable",
        f"{path} cannot be read or written: {error.strerror}",
        hint="is the disk full, or the folder gone?",
    )
