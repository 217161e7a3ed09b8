"""Credentials: what is refused and how, how long that takes, where secrets end, and how soon."""
