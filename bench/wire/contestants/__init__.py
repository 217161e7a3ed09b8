"""The servers that we are measured against; each is a program of its own: `-m MODULE PORT …`."""
