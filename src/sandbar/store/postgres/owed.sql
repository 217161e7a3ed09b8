-- Duties. What reaches beyond the bound workspace does so by functions, and by these only.

-- name: duties
SELECT ws, name, duty, since_us, tries FROM owed_duties()

-- name: claim
SELECT ws, name, duty, since_us, tries FROM claim_owed(%s)

-- name: postpone
UPDATE owed SET tries = tries + 1, due_us = clock_us() + %s WHERE ws = %s AND duty = %s RETURNING 1
