"""`python -m bench`: how fast Sandbar is, as ratios against the bare drivers in the same run."""
