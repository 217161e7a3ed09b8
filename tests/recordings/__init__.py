"""What the program answers, kept as text: every exchange of a large set, and a comparison of two.

    python -m tests.recordings record OUT_DIR [--postgres] [--only KIND …]
    python -m tests.recordings compare OLD_DIR NEW_DIR [--by-kind]

`base` beside this file is the recording of the commit that the tests compare with. What differs on
purpose stands in `meant.toml`, with its exact old and new text and the reason. The tool knows the
wire and the command line only; `verbs.json` is made from the catalogue by `make_verbs.py`.
"""
