-- A table of notes. Its keys are bytes, because names of files may be no text.

-- name: set_up
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -2000

-- name: make
CREATE TABLE {table} (key BLOB PRIMARY KEY, value) WITHOUT ROWID

-- name: get
SELECT value FROM {table} WHERE key = ?

-- name: put
REPLACE INTO {table} VALUES (?, ?)

-- name: delete
DELETE FROM {table} WHERE key = ?

-- name: delete_all
DELETE FROM {table}

-- name: count
SELECT count(*) FROM {table}

-- Walking through it, page by page.

-- name: first
SELECT key, value FROM {table} ORDER BY key LIMIT {page}

-- name: up
SELECT key, value FROM {table} WHERE key > ? ORDER BY key LIMIT {page}

-- name: last
SELECT key, value FROM {table} ORDER BY key DESC LIMIT {page}

-- name: down
SELECT key, value FROM {table} WHERE key < ? ORDER BY key DESC LIMIT {page}

-- name: below
SELECT key, value FROM {table} WHERE key > ? AND key < ? ORDER BY key LIMIT {page}
