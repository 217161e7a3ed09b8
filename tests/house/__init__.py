"""Rules of the house that a machine can check: figures measured, printed and held."""
