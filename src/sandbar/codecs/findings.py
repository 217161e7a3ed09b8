"""What is wrong with a text: every finding with its line and key, raised together."""

from __future__ import annotations

import msgspec

from sandbar.errors import Incorrect, Problem

FINDINGS_MAX = 100  # of one text; whoever has that many mends some and tries again
DOCUMENT_BYTES_MAX = 8 << 20  # twice a transaction: what can be written can be read back

_HINT = "data.findings lists all that is wrong, with line and key"


class Finding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that is wrong, and where."""

    line: int
    key: str | None = None
    code: str
    message: str
    hint: str | None = None
    row: int | None = None  # of a table; its header is row 1


class Findings:
    """What was found in one text so far."""

    def __init__(self) -> None:
        self._found: list[Finding] = []

    def __bool__(self) -> bool:
        return bool(self._found)

    @property
    def is_full(self) -> bool:
        """Whether no more of them will be told."""
        return len(self._found) >= FINDINGS_MAX

    @property
    def first(self) -> Finding:
        """What was found first; there is something."""
        return self._found[0]

    def add(self, finding: Finding) -> None:
        """Note one more."""
        self._found.append(finding)

    def refuse(self, problem: Problem, line: int, key: str | None, row: int | None = None) -> None:
        """Note a problem that was met at a place."""
        self.add(
            Finding(
                line=line,
                key=key,
                code=problem.code,
                message=problem.message,
                hint=problem.hint,
                row=row,
            )
        )

    def raise_any(self) -> None:
        """Refuse the text if anything was found."""
        if self._found:
            raise malformed(self._found)


def malformed(found: list[Finding]) -> Incorrect:
    """The refusal of a text, which begins with the first place."""
    ordered = sorted(found, key=lambda finding: finding.line)[:FINDINGS_MAX]
    first = ordered[0]
    where = f"line {first.line}" + (f", {first.key[:80]}" if first.key else "")
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    hints = dict.fromkeys(finding.hint for finding in ordered[:3] if finding.hint)
    return Incorrect(
        "codec.malformed",
        f"{where}: {first.message}{more}",
        hint="; ".join(hints) or _HINT,
        data={"findings": [msgspec.to_builtins(finding) for finding in ordered]},
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
