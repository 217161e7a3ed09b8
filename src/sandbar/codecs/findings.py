"""What is wrong with a text, with its line and key: all of it is told at once."""

from __future__ import annotations

from collections.abc import Sequence

from sandbar.errors import Incorrect
from sandbar.findings import FINDINGS_MAX, Finding, Findings, data_of

DOCUMENT_BYTES_MAX = 8 << 20  # twice a transaction: what can be written can be read back
_KEPT_MAX = 10_000  # they are told by their lines, which is not the order in which they are found

_HINT = "data.findings lists all that is wrong, with line and key"


def findings_of_text() -> Findings:
    """The collector for one text."""
    return Findings(kept_max=_KEPT_MAX)


def refuse_if_any(findings: Findings) -> None:
    """Refuse the text if anything was found."""
    if findings.told:
        raise malformed(findings.told)


def malformed(found: Sequence[Finding]) -> Incorrect:
    """The refusal of a text, which begins with the first place."""
    ordered = sorted(found, key=lambda finding: finding.line or 0)[:FINDINGS_MAX]
    first = ordered[0]
    where = f"line {first.line}" + (f", {first.key[:80]}" if first.key else "")
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    hints = dict.fromkeys(finding.hint for finding in ordered[:3] if finding.hint)
    return Incorrect(
        "codec.malformed",
        f"{where}: {first.message}{more}",
        hint="; ".join(hints) or _HINT,
        data={"findings": data_of(ordered)},
    )


def check_source(text: str, line: int = 1) -> None:
    """Refuse a text that no codec reads: too large, or with characters that none may have."""
    size = len(text)
    if not text.isascii():
        try:
            size = len(text.encode())
        except UnicodeEncodeError as error:
            raise malformed(
                [
                    Finding(
                        line=line + text.count("\n", 0, error.start),
                        code="value.surrogate",
                        message="the text has half of a surrogate pair",
                        hint="write it in UTF-8",
                    )
                ]
            ) from None
    if size > DOCUMENT_BYTES_MAX:
        raise Incorrect(
            "codec.too-large",
            f"a document has at most {DOCUMENT_BYTES_MAX:,} bytes, this one has {size:,}",
            hint="split it; many entities in one file are read as jsonl or csv",
            data={"line": line},
        )
    if "\0" in text:
        raise malformed(
            [
                Finding(
                    line=line + text.count("\n", 0, text.index("\0")),
                    code="value.nul",
                    message="the text has a NUL character",
                    hint="is it a text file, in UTF-8?",
                )
            ]
        )
