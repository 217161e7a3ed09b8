"""Tests of the scratch: notes on a disk that nobody keeps."""
