"""`sandbar call`: any verb, from a shell."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sandbar.cli.calling import call_verb, existing, settings_of
from sandbar.cli.options import ExistingDatabaseOption, WorkspaceOption

if TYPE_CHECKING:
    from sandbar.database import Database
    from sandbar.settings import Settings
    from sandbar.verbs import Verb


def call(
    verb: Annotated[str, typer.Argument(help="For example entity.find, or class.zorp.SpaceBoot.")],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KEY=VALUE | KEY:=JSON …",
            help="Arguments of the verb: class=zorp/Boot limit:=5",
            show_default=False,
        ),
    ] = None,
    json: Annotated[
        str | None,
        typer.Option(
            "--json",
            metavar="OBJECT",
            help="Arguments as one JSON object; KEY=VALUE comes on top.",
            show_default=False,
        ),
    ] = None,
    database: ExistingDatabaseOption = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Call a verb and print its answer as JSON.

    Works on the database itself, with or without a running server. A value is text where the verb
    takes text, else JSON; KEY:=JSON is always JSON, as in `entity:=72`.
    """
    settings = settings_of(database, workspace)
    given = _object(json)
    texts, values = _split(arguments or [])
    with existing(settings) as db:
        found = db.catalogue.find(verb)
        given |= {key: _read(found, key, text) for key, text in texts.items()}
        answer = call_verb(db, verb, given | values, verb=found)
        advice = _left_to_others(db, settings, found, answer)
    _print_answer(answer)
    if advice:
        print(advice, file=sys.stderr)


def _object(text: str | None) -> dict[str, Any]:
    value = {} if text is None else _json(text, "--json")
    if not isinstance(value, dict):
        raise typer.BadParameter('--json takes an object, such as {"class": "zorp/Boot"}')
    return value


def _json(text: str, what: str) -> Any:
    import msgspec

    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise typer.BadParameter(f"{what}: this is not JSON ({error}); text takes =") from error


def _split(words: list[str]) -> tuple[dict[str, str], dict[str, Any]]:
    """Arguments as they were typed: as text, and as JSON."""
    texts: dict[str, str] = {}
    values: dict[str, Any] = {}
    for word in words:
        key, separator, value = word.partition("=")
        if not separator or not key.rstrip(":"):
            raise typer.BadParameter(f"{word!r} is no argument; write KEY=VALUE or KEY:=JSON")
        if key.rstrip(":") in texts.keys() | values.keys():
            raise typer.BadParameter(f"{key.rstrip(':')} is given twice; a list is KEY:=[…]")
        if key.endswith(":"):
            values[key[:-1]] = _json(value, key[:-1])
        else:
            texts[key] = value
    return texts, values


def _read(found: Verb | None, key: str, text: str) -> Any:
    """The text, or what it says as JSON where the verb takes no text."""
    import msgspec

    if found is None or found.reader is not None:  # the slots of a class say what they take
        return text
    ours = found.aliases.get(key, key)
    fields = msgspec.inspect.type_info(found.arguments)
    assert isinstance(fields, msgspec.inspect.StructType)
    kinds = [one.type for one in fields.fields if ours in (one.name, one.encode_name)]
    if not kinds or _takes_text(kinds[0]):
        return text
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text  # the verb says what it wants


def _takes_text(kind: Any) -> bool:
    from msgspec import inspect

    if isinstance(kind, inspect.Metadata):
        return _takes_text(kind.type)
    if isinstance(kind, inspect.UnionType):
        return any(map(_takes_text, kind.types))
    if isinstance(kind, inspect.LiteralType):
        return any(isinstance(value, str) for value in kind.values)
    return isinstance(kind, inspect.StrType | inspect.AnyType | inspect.EnumType)


def _print_answer(answer: Any) -> None:
    import msgspec

    from sandbar.verbs import Content, NeedsInput, Verbatim

    is_asking = isinstance(answer, NeedsInput | Verbatim)
    is_error = is_asking
    if isinstance(answer, Content):
        is_error = answer.is_error
        answer = {"content": answer.blocks} if answer.structured is None else answer.structured
    text = msgspec.json.encode(answer).decode()
    if sys.stdout.isatty():
        from rich.console import Console

        Console().print_json(text)
    else:
        print(text)
    if is_asking:
        print("this verb asks for more first; call it from an MCP client", file=sys.stderr)
    if is_error:
        raise typer.Exit(1)


def _left_to_others(
    db: Database, settings: Settings, found: Verb | None, answer: Any
) -> str | None:
    """Who goes on with a process that this command has set going; it does nothing more itself."""
    from sandbar.database import examine_database
    from sandbar.verbs import Started
    from sandbar.workflow import VALIDATION, ProcessView

    is_about_process = isinstance(answer, Started | ProcessView)
    if not is_about_process or found is None or found.access == "read" or answer.paused:
        return None
    state = db.workflows.find(answer.workflow, answer.version).states[answer.state]
    if state.activity is None and state.after is None:
        return None
    if not settings.is_postgres and examine_database(settings.database).is_served:
        return None
    what = "does the work" if state.activity is not None else "fires the timer"
    advice = f"a server on this database {what}: start one with sandbar serve"
    is_validation = answer.workflow == VALIDATION
    return f"{advice}; validation.run does it at once" if is_validation else advice
