"""Processes with four steps, from their start to their end: Sandbar beside DBOS."""
