-- Fragments from which scans.py composes index walks: one arm per index range. {where} receives
-- the range. As in queries.sql, OFFSET 0 keeps the planner from turning a walk around.

-- name: arm_now
SELECT s.value AS key, s.id, e.class, e.t, e.doc FROM slot s
CROSS JOIN LATERAL (
  SELECT class, t, doc FROM entity WHERE ws = s.ws AND id = s.id OFFSET 0
) e
WHERE s.ws = %s AND s.property = %s {where}

-- name: arm_slot_as_of
SELECT s.value AS key, s.id FROM slot s
WHERE s.ws = %s AND s.property = %s AND s.since <= %s {where}

-- Merged first and filtered afterwards: a filter inside an arm would make it walk past everything
-- that has changed since, to the end of the range.

-- name: range_as_of
SELECT s.key, s.id FROM (
  (SELECT s.value AS key, s.id, s.since, 9223372036854775807 AS until
   FROM slot s WHERE s.ws = %s AND s.property = %s {where} {arm_order})
  UNION ALL
  (SELECT s.value, s.id, s.since, s.until
   FROM past s WHERE s.ws = %s AND s.property = %s {where} {arm_order})
  {order} OFFSET 0
) s WHERE s.since <= %s AND s.until > %s LIMIT %s

-- name: arm_level_as_of
SELECT s.value AS key, s.id FROM unnest(%s, %s) AS l (level, since)
CROSS JOIN LATERAL (
  SELECT s.value, s.id FROM past s
  WHERE s.level = l.level AND s.since >= l.since
    AND s.ws = %s AND s.property = %s AND s.since <= %s AND s.until > %s {where}
  OFFSET 0
) s

-- name: probe
AND EXISTS (SELECT FROM slot p WHERE p.ws = s.ws AND p.property = %s AND p.value = ANY(%s)
            AND p.id = s.id OFFSET 0)

-- name: documents_as_of
SELECT s.key, s.id, d.class, d.t, d.doc FROM ({places}) s CROSS JOIN LATERAL (
  SELECT class, t, doc FROM entity WHERE ws = %s AND id = s.id AND t <= %s
  UNION ALL
  (SELECT class, t, doc FROM version WHERE ws = %s AND id = s.id AND t <= %s
   ORDER BY t DESC LIMIT 1)
  LIMIT 1
) d
{order}
