-- Fragments from which scans.py composes index walks: one arm per index range, with its order and
-- its length; {where} receives the range. Of several arms one page is merged. As in queries.sql,
-- OFFSET 0 keeps the planner from turning a walk around.

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

-- name: is_key
AND s.value = %s

-- name: is_any_key
AND s.value = ANY(%s)

-- name: is_class
AND e.class = ANY(%s)

-- name: after_id
AND s.id > %s

-- name: after_place
AND (s.value, s.id) > (%s, %s)

-- name: before_place
AND (s.value, s.id) < (%s, %s)

-- name: from_key
AND s.value >= %s

-- name: below_key
AND s.value < %s

-- name: by_id
ORDER BY s.id

-- name: by_value
ORDER BY s.value, s.id

-- name: by_value_down
ORDER BY s.value DESC, s.id DESC

-- name: by_key
ORDER BY s.key, s.id

-- name: by_key_down
ORDER BY s.key DESC, s.id DESC

-- name: page_by_key
ORDER BY key, id

-- name: page_by_key_down
ORDER BY key DESC, id DESC

-- name: length
LIMIT %s

-- name: next_arm
UNION ALL

-- name: merged
SELECT * FROM ({arms}) s {order} LIMIT %s

-- A many-valued slot can hold two of the keys: each entity counts once.

-- name: merged_once
SELECT DISTINCT ON (s.id) * FROM ({arms}) s ORDER BY s.id, s.key LIMIT %s

-- name: explain
EXPLAIN (COSTS OFF) {scan}

-- name: documents_as_of
SELECT s.key, s.id, d.class, d.t, d.doc FROM ({places}) s CROSS JOIN LATERAL (
  SELECT class, t, doc FROM entity WHERE ws = %s AND id = s.id AND t <= %s
  UNION ALL
  (SELECT class, t, doc FROM version WHERE ws = %s AND id = s.id AND t <= %s
   ORDER BY t DESC LIMIT 1)
  LIMIT 1
) d
{order}
