-- Fragments from which scans.py composes index walks: one arm per index range, with what narrows
-- it, its order and its length; of several arms one page is merged.

-- name: arm_now
SELECT s.value AS key, s.id AS id, e.class AS class, e.t AS t, e.doc AS doc
FROM slot s CROSS JOIN entity e ON e.place = (s.ws << 40) + s.id AND e.ws = s.ws
WHERE s.ws = ? AND s.property = ?

-- name: arm_slot_as_of
SELECT s.value AS key, s.id AS id FROM slot s
WHERE s.ws = ? AND s.property = ? AND s.since <= ?

-- Merged first and filtered afterwards: a filter inside an arm would make it walk past everything
-- that has changed since, to the end of the range. LIMIT -1 keeps the filter out.

-- name: range_as_of
SELECT key, id FROM (
  SELECT s.value AS key, s.id AS id, s.since AS since, 9223372036854775807 AS until
  FROM slot s WHERE s.ws = ? AND s.property = ? {where}
  UNION ALL
  SELECT s.value, s.id, s.since, s.until
  FROM past s WHERE s.ws = ? AND s.property = ? {where}
  {order} LIMIT -1)
WHERE since <= ? AND until > ? LIMIT ?

-- name: arm_level_as_of
SELECT s.value AS key, s.id AS id FROM json_each(?) l CROSS JOIN past s
  ON s.level = l.value ->> 0 AND s.since >= l.value ->> 1
WHERE s.ws = ? AND s.property = ? AND s.since <= ? AND s.until > ?

-- name: probe
AND EXISTS (SELECT 1 FROM slot p WHERE p.ws = s.ws AND p.property = ? AND p.value IN ({keys})
            AND p.id = s.id)

-- name: is_key
AND s.value = ?

-- name: is_any_key
AND s.value IN ({keys})

-- name: is_class
AND e.class IN ({classes})

-- name: after_id
AND s.id > ?

-- name: after_place
AND (s.value, s.id) > (?, ?)

-- name: before_place
AND (s.value, s.id) < (?, ?)

-- name: from_key
AND s.value >= ?

-- name: below_key
AND s.value < ?

-- name: nothing
AND 0

-- name: by_id
ORDER BY s.id

-- name: by_key
ORDER BY s.value, s.id

-- name: by_key_down
ORDER BY s.value DESC, s.id DESC

-- name: length
LIMIT ?

-- name: arm
SELECT * FROM ({arm})

-- name: next_arm
UNION ALL

-- name: merged
SELECT * FROM ({arms}) {order} LIMIT ?

-- name: page_by_id
ORDER BY id

-- name: page_by_key
ORDER BY key, id

-- name: page_by_key_down
ORDER BY key DESC, id DESC

-- A many-valued slot can hold two of the keys: each entity counts once.

-- name: merged_once
SELECT min(key) AS key, id, class, t, doc FROM ({arms}) GROUP BY id ORDER BY id LIMIT ?

-- name: merged_once_as_of
SELECT min(key) AS key, id FROM ({arms}) GROUP BY id ORDER BY id LIMIT ?

-- name: explain
EXPLAIN QUERY PLAN {scan}

-- name: document_as_of
SELECT class, t, doc FROM entity WHERE place = (?1 << 40) + ?2 AND ws = ?1 AND t <= ?3
UNION ALL
SELECT class, t, doc FROM (
  SELECT class, t, doc FROM version WHERE ws = ?1 AND id = ?2 AND t <= ?3
  ORDER BY t DESC LIMIT 1)
LIMIT 1
