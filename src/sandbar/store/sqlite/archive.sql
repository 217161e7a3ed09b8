-- Backups. A number whose workspace was dropped has no name.

-- name: workspaces
SELECT ws, CASE WHEN t < 0 THEN '' ELSE name END, t, generation, next_id, instant_us, limits
FROM workspace ORDER BY ws

-- A new file is filled without a log, and nothing is synced before it is whole.

-- name: without_log
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF

-- name: with_log
PRAGMA journal_mode = WAL

-- name: has_workspaces
SELECT EXISTS (SELECT 1 FROM workspace)

-- name: read_rows
SELECT {columns} FROM {table} WHERE ws = ? ORDER BY {key}

-- name: read_entities
SELECT id, class, t, doc FROM entity
WHERE place >= ?1 << 40 AND place < (?1 + 1) << 40 ORDER BY place

-- name: count_rows
SELECT count(*) FROM {table} WHERE ws = ?

-- name: count_entities
SELECT count(*) FROM entity WHERE place >= ?1 << 40 AND place < (?1 + 1) << 40

-- name: put_workspace
INSERT INTO workspace (ws, name, t, generation, epoch, next_id, instant_us, limits)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)

-- 25 is db/ident: a process holds workflow/active? until it has ended.

-- name: count_usage
UPDATE workspace AS w SET
  (stored_bytes, entities) = (
    SELECT coalesce(sum(octet_length(doc)), 0), count(*) FROM entity
    WHERE place >= w.ws << 40 AND place < (w.ws + 1) << 40),
  history_bytes = (SELECT coalesce(sum(octet_length(doc)), 0) FROM version WHERE ws = w.ws),
  processes = (SELECT count(*) FROM slot WHERE ws = w.ws AND value = x'01' AND property = (
    SELECT id FROM slot
    WHERE ws = w.ws AND property = 25 AND value = CAST('workflow/active?' AS BLOB)))

-- name: put_unsearched
INSERT INTO owed (ws, duty, mark, since_us, tries, due_us) VALUES (?, 'index', 0, ?, 0, 0)

-- name: put_rows
INSERT INTO {table} (ws, {columns}) VALUES (?, {marks})

-- name: put_entities
INSERT INTO entity (place, class, t, doc) VALUES (?, ?, ?, ?)

-- name: put_jobs
INSERT INTO job (ws, id, due_us, owner, token, until_us) VALUES (?, ?, ?, NULL, NULL, 0)
