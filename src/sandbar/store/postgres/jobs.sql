-- Jobs. What reaches beyond the bound workspace does so by functions, and by these only.

-- name: is_due
SELECT has_due_job()

-- name: next_due
SELECT next_job_us()

-- name: claim
SELECT ws, name, id, token, due_us, is_taken_over FROM claim_jobs(%s, %s, %s, %s)

-- name: renew
SELECT renew_job(%s, %s, %s, %s)

-- name: release
SELECT release_job(%s, %s, %s, %s)

-- Whoever has waited for long is looked at less often: after as long again, within bounds.

-- name: put_off
WITH clock AS MATERIALIZED (SELECT clock_us() AS now),
waiting AS MATERIALIZED (
  SELECT j.ctid AS place FROM job j, clock c
  WHERE j.ws = %(ws)s AND (j.id = %(id)s AND j.token = %(token)s
    OR %(all)s AND j.due_us <= c.now AND j.until_us <= c.now)
  FOR UPDATE OF j SKIP LOCKED
), put_off AS (
  UPDATE job j SET
    due_us = now + greatest(%(least)s::bigint, least(%(most)s, now - coalesce(over_us, now))),
    owner = NULL, token = NULL, until_us = 0, over_us = coalesce(over_us, now)
  FROM clock, waiting WHERE j.ctid = waiting.place AND j.ws = %(ws)s RETURNING 1
)
SELECT count(*) FROM put_off

-- name: note_over_budget
UPDATE job SET over_us = CASE WHEN %(is_over)s THEN coalesce(over_us, clock_us()) END
WHERE ws = %(ws)s AND id = %(id)s AND token = %(token)s RETURNING 1

-- name: over_budget
SELECT id, over_us FROM job WHERE ws = %s AND id = ANY (%s) AND over_us IS NOT NULL

-- name: all_over_budget
SELECT count(*), min(over_us) FROM job WHERE ws = %s AND over_us IS NOT NULL
HAVING count(*) > 0

-- name: try_over_budget
WITH tried AS (
  UPDATE job SET due_us = clock_us()
  WHERE ws = %s AND over_us IS NOT NULL AND token IS NULL RETURNING 1)
SELECT count(*) FROM tried

-- name: job_token
SELECT token FROM job WHERE ws = %s AND id = %s FOR UPDATE

-- name: put_jobs
WITH gone AS (DELETE FROM job WHERE ws = %(ws)s AND id = ANY (%(gone_ids)s))
INSERT INTO job (ws, id, due_us, until_us)
SELECT %(ws)s, u.id, u.due_us, 0 FROM unnest(%(ids)s, %(due)s) u (id, due_us)
ON CONFLICT (ws, id) DO UPDATE
SET due_us = excluded.due_us, owner = NULL, token = NULL, until_us = 0, over_us = NULL
