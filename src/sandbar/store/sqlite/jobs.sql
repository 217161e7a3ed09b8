-- Jobs, of all workspaces unless a statement names one. Held is what has a lease beyond now.

-- name: is_due
SELECT EXISTS (SELECT 1 FROM job WHERE due_us <= ?1 AND until_us <= ?1)

-- name: due_jobs
SELECT j.ws, w.name, j.id, j.due_us, j.owner IS NOT NULL AND j.owner <> ?3
FROM job j CROSS JOIN workspace w ON w.ws = j.ws
WHERE j.due_us <= ?1 AND j.until_us <= ?1
  AND (j.due_us > 0 OR (?4 IS NOT NULL AND j.ws NOT IN (SELECT value FROM json_each(?4))))
ORDER BY j.due_us, j.ws, j.id LIMIT ?2

-- name: claim_job
UPDATE job SET owner = ?, token = ?, until_us = ? WHERE ws = ? AND id = ?

-- name: renew_job
UPDATE job SET until_us = ? WHERE ws = ? AND id = ? AND token = ?

-- name: release_job
UPDATE job SET due_us = ?, owner = NULL, token = NULL, until_us = 0, over_us = NULL
WHERE ws = ? AND id = ? AND token = ?

-- Whoever has waited for long is looked at less often: after as long again, within bounds.

-- name: put_off_jobs
UPDATE job SET due_us = ?1 + max(?2, min(?3, ?1 - coalesce(over_us, ?1))),
  owner = NULL, token = NULL, until_us = 0, over_us = coalesce(over_us, ?1)
WHERE ws = ?4 AND (id = ?5 AND token = ?6 OR ?7 AND due_us <= ?1 AND until_us <= ?1)

-- name: note_over_budget
UPDATE job SET over_us = CASE WHEN ?2 THEN coalesce(over_us, ?1) END
WHERE ws = ?3 AND id = ?4 AND token = ?5

-- name: over_budget
SELECT id, over_us FROM job
WHERE ws = ? AND id IN (SELECT value FROM json_each(?)) AND over_us IS NOT NULL

-- name: all_over_budget
SELECT count(*), min(over_us) FROM job WHERE ws = ? AND over_us IS NOT NULL
HAVING count(*) > 0

-- name: try_over_budget
UPDATE job SET due_us = ? WHERE ws = ? AND over_us IS NOT NULL AND token IS NULL

-- If none of those that are due is free, they are held: as many as are being worked on, so few.

-- name: next_due
SELECT coalesce(
  (SELECT 0 FROM job WHERE due_us <= ?1 AND until_us <= ?1 LIMIT 1),
  (SELECT min(at) - ?1 FROM (
    SELECT min(until_us) AS at FROM job WHERE due_us <= ?1
    UNION ALL
    SELECT min(due_us) FROM job WHERE due_us > ?1)))

-- name: job_token
SELECT token FROM job WHERE ws = ? AND id = ?

-- name: put_job
INSERT INTO job (ws, id, due_us, until_us) VALUES (?, ?, ?, 0)
ON CONFLICT (ws, id) DO UPDATE
SET due_us = excluded.due_us, owner = NULL, token = NULL, until_us = 0, over_us = NULL

-- name: drop_job
DELETE FROM job WHERE ws = ? AND id = ?
