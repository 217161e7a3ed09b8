"""What a class says of its slots by their names, in `dt/validator` and `dt/document`.

Data refer to slots by number, these words by ident: when a slot is renamed, taken away or holds
something else, they must still be true.
"""

from __future__ import annotations

from sandbar.errors import Problem
from sandbar.findings import Finding
from sandbar.model.document_rules import check_document, slots_named
from sandbar.model.schema import Class

_SAY_SO = "change {what} of {cls} in the same transaction"


def misnamed(before: Class, after: Class) -> list[Finding]:
    """What the class still says of slots that have another name by now, or are gone.

    Where another slot bears the name, whoever has changed the words meant that one.
    """
    renamed = {
        was.ident: now.ident
        for key, was in before.by_key.items()
        if (now := after.by_key.get(key)) is not None and was.ident != now.ident
    }
    known = {text for _, text in before.validator_texts}
    findings = [
        Finding(
            code="class.validator",
            message=f"the validator of {owner} names {old}, which would be {new}",
            slot=new,
            hint=_SAY_SO.format(what="dt/validator", cls=owner),
        )
        for owner, expression in (after.validators if renamed else ())
        for old, new in renamed.items()
        if expression.names(old) and (old not in after.slots or expression.text in known)
    ]
    return findings + _wrong_document(before, after, renamed)


def _wrong_document(before: Class, after: Class, renamed: dict[str, str]) -> list[Finding]:
    """Why the documents of a class could not be written any more, or not as they were."""
    if after.document is None or before.document != after.document:
        return []  # whoever writes it has it checked
    hint = _SAY_SO.format(what="dt/document", cls=after.ident)
    try:
        check_document(after)
    except Problem as problem:
        return [Finding(code=problem.code, message=problem.message, hint=hint)]
    return [
        Finding(
            code="definition.document",
            message=f"dt/document names {old}, which would be {new}",
            slot=new,
            hint=hint,
        )
        for old, new in renamed.items()
        if old in slots_named(after)
    ]


def validators_see_otherwise(before: Class, after: Class) -> bool:
    """Whether the validators that there were would judge the same documents by other values."""
    if not after.validator_texts:
        return False
    names: set[str] = set()
    for key, was in before.by_key.items():
        now = after.by_key.get(key, was)
        if was.ident != now.ident or was.kind is not now.kind or was.many is not now.many:
            names.update((was.ident, now.ident))
    return bool(names) and any(expression.may_read_any(names) for _, expression in after.validators)
