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

-- name: job_token
SELECT token FROM job WHERE ws = %s AND id = %s FOR UPDATE

-- name: put_jobs
WITH gone AS (DELETE FROM job WHERE ws = %(ws)s AND id = ANY (%(gone_ids)s))
INSERT INTO job (ws, id, due_us, until_us)
SELECT %(ws)s, u.id, u.due_us, 0 FROM unnest(%(ids)s, %(due)s) u (id, due_us)
ON CONFLICT (ws, id) DO UPDATE
SET due_us = excluded.due_us, owner = NULL, token = NULL, until_us = 0
