"""Each contestant is a program of its own: `-m MODULE TARGET …`, driven over its standard input."""
