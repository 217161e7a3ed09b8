-- How a connection is set up, before anything is asked.

-- name: set_up_writer
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA foreign_keys = ON;
PRAGMA cache_size = -{cache_kib};
PRAGMA trusted_schema = OFF;
PRAGMA wal_autocheckpoint = {log_pages}

-- name: set_up_claimer
PRAGMA synchronous = NORMAL;
PRAGMA trusted_schema = OFF;
PRAGMA wal_autocheckpoint = {log_pages}

-- name: set_up_reader
PRAGMA query_only = ON;
PRAGMA cache_size = -{cache_kib};
PRAGMA trusted_schema = OFF
