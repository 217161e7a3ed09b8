-- The audit: rows and seals are only ever added. A row that is tried again keeps its number.

-- name: put_audit
INSERT INTO audit (ws, {audit}) VALUES (?, {audit: ?}) ON CONFLICT (ws, run, n) DO NOTHING

-- name: epoch
SELECT epoch FROM workspace WHERE ws = ? AND t >= 0

-- Of a row that is only tried, before its transaction ends.

-- name: begin_trial
SAVEPOINT tried

-- name: end_trial
ROLLBACK TO tried

-- name: drop_audit
DELETE FROM audit WHERE ws = ? AND run = ? AND n = ?

-- name: rows
SELECT {audit} FROM audit
WHERE ws = :ws AND at_us <= :last_us AND (at_us, run, n) < (:at_us, :run, :n)
  AND (:principal IS NULL OR principal = :principal) AND (:verb IS NULL OR verb = :verb)
  AND (:is_success IS NULL OR is_success = :is_success)
ORDER BY at_us DESC, run DESC, n DESC LIMIT :limit

-- name: rows_of
SELECT {audit} FROM audit WHERE ws = ? AND run = ? AND n > ? AND n <= ? ORDER BY n LIMIT ?

-- From run to run by the key, however many rows each has.

-- name: runs
WITH RECURSIVE found (run) AS (
  SELECT (SELECT min(run) FROM audit WHERE ws = ?1)
  UNION ALL
  SELECT (SELECT min(a.run) FROM audit a WHERE a.ws = ?1 AND a.run > found.run)
  FROM found WHERE found.run IS NOT NULL)
SELECT found.run, a.n, a.at_us FROM found CROSS JOIN audit a
WHERE a.ws = ?1 AND a.run = found.run
  AND a.n = (SELECT max(n) FROM audit WHERE ws = ?1 AND run = found.run)
ORDER BY found.run

-- name: run_ends
WITH RECURSIVE found (run) AS (
  SELECT (SELECT min(run) FROM audit WHERE ws = :ws AND run > :after)
  UNION ALL
  SELECT (SELECT min(a.run) FROM audit a WHERE a.ws = :ws AND a.run > found.run)
  FROM found WHERE found.run IS NOT NULL
  LIMIT :limit)
SELECT found.run, a.n, a.at_us,
       coalesce((SELECT max(last_n) FROM seal WHERE ws = :ws AND run = found.run), 0)
FROM found CROSS JOIN audit a
WHERE a.ws = :ws AND a.run = found.run
  AND a.n = (SELECT max(n) FROM audit WHERE ws = :ws AND run = found.run)
ORDER BY found.run

-- name: seals
SELECT number, run, first_n, last_n, count, at_us, hash FROM seal
WHERE ws = ? AND number > ? ORDER BY number LIMIT ?

-- name: last_seal
SELECT number, run, first_n, last_n, count, at_us, hash FROM seal
WHERE ws = ? ORDER BY number DESC LIMIT 1

-- name: last_sealed
SELECT coalesce(max(last_n), 0) FROM seal WHERE ws = ? AND run = ?

-- name: put_seal
INSERT INTO seal (ws, number, run, first_n, last_n, count, at_us, hash)
VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (ws, number) DO NOTHING

-- name: note_use
INSERT INTO key_use (ws, id, at_us) VALUES (?, ?, ?)
ON CONFLICT (ws, id) DO UPDATE SET at_us = excluded.at_us WHERE excluded.at_us > at_us

-- name: uses
SELECT id, at_us FROM key_use WHERE ws = ?
