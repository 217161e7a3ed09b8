"""The tests, importable as a package so that the benchmark can use their PostgreSQL server."""
