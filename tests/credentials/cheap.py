"""`sandbar` that compares chosen keys in a moment: for those who send hundreds of wrong ones.

What is answered does not depend on how long it took; that it takes long, and as long for a name
that nobody has, is tested in `test_timing.py`.
"""

from __future__ import annotations

from argon2 import PasswordHasher

from sandbar.access import verdicts
from sandbar.cli.main import main
from sandbar.model import secrets

HASHER = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)

if __name__ == "__main__":
    secrets._hasher = HASHER
    verdicts.NOBODYS_HASH = HASHER.hash("nobody's")
    main()
