-- Duties. A commit that owes one anew makes it due at once.

-- name: owe
INSERT INTO owed (ws, duty, mark, since_us, tries, due_us) VALUES (?, ?, ?, ?, 0, 0)
ON CONFLICT (ws, duty) DO UPDATE SET mark = excluded.mark, tries = 0, due_us = 0

-- name: duties
SELECT o.ws, (SELECT w.name FROM workspace w WHERE w.ws = o.ws AND w.t >= 0), o.duty, o.since_us,
       o.tries
FROM owed o ORDER BY o.since_us, o.ws, o.duty

-- name: is_due
SELECT EXISTS (SELECT 1 FROM owed WHERE due_us <= ?)

-- name: claim
UPDATE owed SET due_us = ?1 + ?2 WHERE (ws, duty) IN (
  SELECT ws, duty FROM owed WHERE due_us <= ?1 ORDER BY due_us, ws, duty LIMIT 1)
RETURNING ws, (SELECT w.name FROM workspace w WHERE w.ws = owed.ws AND w.t >= 0), duty, since_us,
          tries

-- name: postpone
UPDATE owed SET tries = tries + 1, due_us = ? WHERE ws = ? AND duty = ?

-- name: marks
SELECT ws, mark, tries, due_us FROM owed WHERE duty = ?

-- A commit that came meanwhile has left another mark, and is owed another time.

-- name: done
DELETE FROM owed WHERE ws = ? AND duty = ? AND mark = ?
