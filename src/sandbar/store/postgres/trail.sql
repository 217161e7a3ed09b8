-- The audit: rows and seals are only ever added. A row that is tried again keeps its number.

-- name: put_audit
WITH put AS (
  INSERT INTO audit (ws, {audit})
  SELECT %(ws)s, u.* FROM unnest({audit: %(column)s}) u
  ON CONFLICT (ws, run, n) DO NOTHING RETURNING 1
)
SELECT count(*) FROM put

-- name: rows
SELECT {audit} FROM audit
WHERE ws = %(ws)s AND at_us <= %(last_us)s AND (at_us, run, n) < (%(at_us)s, %(run)s, %(n)s)
  AND (%(principal)s::text IS NULL OR principal = %(principal)s)
  AND (%(verb)s::text IS NULL OR verb = %(verb)s)
  AND (%(is_success)s::bigint IS NULL OR is_success = %(is_success)s)
ORDER BY at_us DESC, run DESC, n DESC LIMIT %(limit)s

-- name: rows_of
SELECT {audit} FROM audit WHERE ws = %s AND run = %s AND n > %s AND n <= %s ORDER BY n LIMIT %s

-- From run to run by the key, however many rows each has.

-- name: runs
WITH RECURSIVE found (run) AS (
  SELECT (SELECT min(a.run) FROM audit a WHERE a.ws = %(ws)s)
  UNION ALL
  SELECT (SELECT min(a.run) FROM audit a WHERE a.ws = %(ws)s AND a.run > found.run)
  FROM found WHERE found.run IS NOT NULL)
SELECT found.run, l.n, l.at_us FROM found CROSS JOIN LATERAL (
  SELECT a.n, a.at_us FROM audit a WHERE a.ws = %(ws)s AND a.run = found.run
  ORDER BY a.n DESC LIMIT 1) l
ORDER BY found.run

-- name: run_ends
WITH RECURSIVE found (run, nth) AS (
  SELECT (SELECT min(a.run) FROM audit a WHERE a.ws = %(ws)s AND a.run > %(after)s), 1
  UNION ALL
  SELECT (SELECT min(a.run) FROM audit a WHERE a.ws = %(ws)s AND a.run > found.run), nth + 1
  FROM found WHERE found.run IS NOT NULL AND nth < %(limit)s)
SELECT found.run, l.n, l.at_us,
       coalesce((SELECT max(s.last_n) FROM seal s WHERE s.ws = %(ws)s AND s.run = found.run), 0)
FROM found CROSS JOIN LATERAL (
  SELECT a.n, a.at_us FROM audit a WHERE a.ws = %(ws)s AND a.run = found.run
  ORDER BY a.n DESC LIMIT 1) l
ORDER BY found.run

-- name: seals
SELECT number, run, first_n, last_n, count, at_us, hash FROM seal
WHERE ws = %s AND number > %s ORDER BY number LIMIT %s

-- name: last_seal
SELECT number, run, first_n, last_n, count, at_us, hash FROM seal
WHERE ws = %s ORDER BY number DESC LIMIT 1

-- name: last_sealed
SELECT coalesce(max(last_n), 0) FROM seal WHERE ws = %s AND run = %s

-- The sessions that append wait for no disk; this one commit does, and with it all before it.

-- name: put_seal
WITH synced AS MATERIALIZED (SELECT set_config('synchronous_commit', 'on', true)),
put AS (
  INSERT INTO seal (ws, number, run, first_n, last_n, count, at_us, hash)
  SELECT v.* FROM synced CROSS JOIN (
    SELECT %s::bigint, %s::bigint, %s::bigint, %s::bigint, %s::bigint, %s::bigint, %s::bigint,
           %s::bytea) v
  ON CONFLICT (ws, number) DO NOTHING RETURNING 1
)
SELECT count(*) FROM put

-- name: note_uses
WITH put AS (
  INSERT INTO key_use AS k (ws, id, at_us)
  SELECT %(ws)s, u.id, u.at_us FROM unnest(%(ids)s, %(at)s) u (id, at_us)
  ON CONFLICT (ws, id) DO UPDATE SET at_us = excluded.at_us WHERE excluded.at_us > k.at_us
  RETURNING 1
)
SELECT count(*) FROM put

-- name: uses
SELECT id, at_us FROM key_use WHERE ws = %s
