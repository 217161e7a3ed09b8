"""The drivers without us: the same tables, the same rows, the shortest way there."""
