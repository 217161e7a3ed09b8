"""Tests of the documentation: what a page shows runs, and what it says is so."""
