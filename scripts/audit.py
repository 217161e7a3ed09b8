"""Known vulnerabilities of what the locks name, as `pip-audit` tells them.

    python scripts/audit.py requirements.lock …

One that is found fails, and so does an audit that cannot be made. Only where the advisories cannot
be reached, or not in time, that is said in one line and nothing fails: a machine without a network
can be worked on.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

LIMIT_S = 20
# What pip-audit, and the libraries it asks with, say when there is no way to the advisories.
UNREACHED = (
    "ConnectionError",
    "Could not connect",
    "HTTPError",
    "MaxRetryError",
    "ProxyError",
    "Timeout",
    "not redirecting",
)


def main(locks: list[str]) -> int:
    """0, unless something vulnerable is locked, or the audit cannot be made."""
    program = Path(sys.executable).with_name("pip-audit")
    words = [str(program), "--format", "json", "--progress-spinner", "off", "--no-deps"]
    words += ["--disable-pip", *(word for lock in locks for word in ("--requirement", lock))]
    try:
        done = subprocess.run(
            words,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return not_audited(f"no answer in {LIMIT_S} s")
    except OSError as error:
        return failed(str(error))
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):
        said = done.stderr.strip().splitlines()
        if lost := [line for line in said if any(word in line for word in UNREACHED)]:
            return not_audited(lost[-1])
        return failed(f"ended with {done.returncode}: {said[-1] if said else 'and said nothing'}")
    return told(packages)


def not_audited(why: str) -> int:
    """Say so, and go on."""
    print(f"not audited, the advisories cannot be reached: {why[:200]}")
    return 0


def failed(why: str) -> int:
    """The audit itself is broken: nothing is known, and a network would not help."""
    print(f"not audited, pip-audit does not work: {why[:200]}")
    return 1


def told(packages: list[dict[str, Any]]) -> int:
    """Name every vulnerability, and what mends it."""
    found = [(package, one) for package in packages for one in package.get("vulns", ())]
    for package, one in found:
        mended = ", ".join(one.get("fix_versions") or ()) or "none yet"
        print(f"{package['name']} {package['version']}: {one['id']}, mended in: {mended}")
    skipped = [package["skip_reason"] for package in packages if "skip_reason" in package]
    looked_at = len(packages) - len(skipped)
    if packages and not looked_at:
        return not_audited(str(skipped[0]))
    print(f"audited {looked_at} packages, {len(found)} known vulnerabilities")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
