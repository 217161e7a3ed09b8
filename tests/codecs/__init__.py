"""Tests of codecs: whatever is written can be read again, and whatever is wrong is said where."""
