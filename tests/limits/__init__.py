"""Limits: how exactly requests are counted, with several servers, and what the refused are told."""
