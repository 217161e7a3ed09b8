-- Where one row leads to another, a LATERAL query with OFFSET 0 says so: the planner may not turn
-- it around, whatever it believes about the size of the tables.

-- name: workspace_by_name
SELECT workspace_by_name(%s)

-- name: create_workspace
SELECT create_workspace(%s, %s)

-- name: bind
SELECT set_config('sandbar.ws', %s, false)

-- name: bind_transaction
SELECT set_config('sandbar.ws', %s, true)

-- name: insist_on_sync
SELECT set_config('synchronous_commit', 'on', false)
WHERE current_setting('synchronous_commit') = 'off'

-- name: lock_workspace
SELECT t, generation, epoch, next_id, instant_us FROM workspace WHERE ws = %s FOR UPDATE

-- name: state
SELECT t, generation, epoch, next_id, instant_us FROM workspace WHERE ws = %s

-- name: save_state
UPDATE workspace SET t = %s, generation = %s, next_id = %s, instant_us = %s WHERE ws = %s

-- name: nonce_at
SELECT nonce FROM tx WHERE ws = %s AND t = %s

-- name: point
SELECT w.t, w.generation, w.epoch, e.id, e.class, e.t, e.doc
FROM workspace w LEFT JOIN entity e ON e.ws = w.ws AND e.id = %s
WHERE w.ws = %s

-- name: point_by_key
SELECT w.t, w.generation, w.epoch, e.id, e.class, e.t, e.doc
FROM workspace w
LEFT JOIN slot s ON s.ws = w.ws AND s.property = %s AND s.value = %s
LEFT JOIN entity e ON e.ws = s.ws AND e.id = s.id
WHERE w.ws = %s
ORDER BY s.id LIMIT 1

-- name: point_as_of
SELECT w.t, w.generation, w.epoch, v.id, v.class, v.t, v.doc
FROM workspace w LEFT JOIN LATERAL (
  SELECT id, class, t, doc FROM entity
  WHERE ws = %(ws)s AND id = %(id)s AND t <= %(t)s
  UNION ALL
  (SELECT id, class, t, doc FROM version WHERE ws = %(ws)s AND id = %(id)s AND t <= %(t)s
   ORDER BY t DESC LIMIT 1)
  LIMIT 1
) v ON true
WHERE w.ws = %(ws)s

-- name: entity
SELECT id, class, t, doc FROM entity WHERE ws = %s AND id = %s

-- name: entities
SELECT e.id, e.class, e.t, e.doc FROM unnest(%(ids)s) WITH ORDINALITY AS u (id, place)
CROSS JOIN LATERAL (
  SELECT id, class, t, doc FROM entity WHERE ws = %(ws)s AND id = u.id OFFSET 0
) e
ORDER BY u.place

-- name: entities_as_of
SELECT u.id, v.class, v.t, v.doc FROM unnest(%(ids)s) WITH ORDINALITY AS u (id, place)
CROSS JOIN LATERAL (
  SELECT class, t, doc FROM entity WHERE ws = %(ws)s AND id = u.id AND t <= %(t)s
  UNION ALL
  (SELECT class, t, doc FROM version WHERE ws = %(ws)s AND id = u.id AND t <= %(t)s
   ORDER BY t DESC LIMIT 1)
  LIMIT 1
) v
WHERE v.doc IS NOT NULL
ORDER BY u.place

-- name: entity_as_of
SELECT id, class, t, doc FROM entity WHERE ws = %(ws)s AND id = %(id)s AND t <= %(t)s
UNION ALL
(SELECT id, class, t, doc FROM version WHERE ws = %(ws)s AND id = %(id)s AND t <= %(t)s
 ORDER BY t DESC LIMIT 1)
LIMIT 1

-- name: find
SELECT id FROM slot WHERE ws = %s AND property = %s AND value = %s ORDER BY id

-- name: find_many
SELECT u.property, u.value, e.id, e.class, e.t, e.doc
FROM unnest(%(properties)s::bigint[], %(keys)s::bytea[]) AS u (property, value)
CROSS JOIN LATERAL (
  SELECT id FROM slot
  WHERE ws = %(ws)s AND property = u.property AND value = u.value ORDER BY id OFFSET 0
) s
CROSS JOIN LATERAL (
  SELECT id, class, t, doc FROM entity WHERE ws = %(ws)s AND id = s.id OFFSET 0
) e

-- name: find_as_of
SELECT id FROM slot
WHERE ws = %(ws)s AND property = %(property)s AND value = %(key)s AND since <= %(t)s
UNION
SELECT p.id FROM unnest(%(levels)s::bigint[], %(since)s::bigint[]) AS l (level, since)
CROSS JOIN LATERAL (
  SELECT id FROM past
  WHERE ws = %(ws)s AND property = %(property)s AND value = %(key)s AND level = l.level
    AND since >= l.since AND since <= %(t)s AND until > %(t)s OFFSET 0
) p
ORDER BY id

-- name: referrers
SELECT s.property, s.id FROM unnest(%(properties)s::bigint[]) AS u (property)
CROSS JOIN LATERAL (
  SELECT property, id FROM slot
  WHERE ws = %(ws)s AND property = u.property AND value = %(key)s
  ORDER BY id LIMIT %(limit)s
) s
ORDER BY s.property, s.id LIMIT %(limit)s

-- name: secret
SELECT hash FROM secret WHERE ws = %s AND id = %s AND property = %s

-- name: recall
SELECT digest, receipt, instant_us FROM idempotency WHERE ws = %s AND principal = %s AND key = %s

-- name: versions
SELECT v.t, v.class, v.doc, x.instant_us, x.principal, x.reason FROM (
  (SELECT t, class, doc FROM version WHERE ws = %(ws)s AND id = %(id)s AND t > %(after)s
   -- A deletion that the same transaction took back is no state.
   AND t <> coalesce((SELECT t FROM entity WHERE ws = %(ws)s AND id = %(id)s), 0)
   ORDER BY t LIMIT %(limit)s)
  UNION ALL
  SELECT t, class, doc FROM entity WHERE ws = %(ws)s AND id = %(id)s AND t > %(after)s
) v CROSS JOIN LATERAL (
  SELECT instant_us, principal, reason FROM tx WHERE ws = %(ws)s AND t = v.t OFFSET 0
) x
ORDER BY v.t LIMIT %(limit)s

-- name: transactions
SELECT t, instant_us, principal, reason, ids FROM tx
WHERE ws = %s AND t > %s ORDER BY t LIMIT %s

-- name: transaction_at
SELECT t FROM tx WHERE ws = %s AND instant_us <= %s ORDER BY instant_us DESC LIMIT 1

-- name: schema_changes
SELECT t FROM tx WHERE ws = %s AND is_schema = 1 ORDER BY t

-- name: put_entities
INSERT INTO entity (ws, id, class, t, doc)
SELECT %(ws)s, u.* FROM unnest(
  %(ids)s::bigint[], %(classes)s::bigint[], %(ts)s::bigint[], %(docs)s::text[]) u
ON CONFLICT (ws, id) DO UPDATE SET class = excluded.class, t = excluded.t, doc = excluded.doc

-- name: drop_entities
DELETE FROM entity WHERE ws = %(ws)s AND id = ANY(%(ids)s)

-- name: put_versions
INSERT INTO version (ws, id, t, class, doc)
SELECT %(ws)s, u.* FROM unnest(
  %(ids)s::bigint[], %(ts)s::bigint[], %(classes)s::bigint[], %(docs)s::text[]) u
ON CONFLICT (ws, id, t) DO UPDATE SET class = excluded.class, doc = excluded.doc

-- name: begin_slots
INSERT INTO slot (ws, property, value, id, since)
SELECT %(ws)s, u.* FROM unnest(
  %(properties)s::bigint[], %(keys)s::bytea[], %(ids)s::bigint[], %(since)s::bigint[]) u

-- name: end_slots
WITH gone AS MATERIALIZED (
  SELECT u.*, s.ctid AS place, s.since FROM unnest(
    %(properties)s::bigint[], %(keys)s::bytea[], %(ids)s::bigint[], %(until)s::bigint[]
  ) u (property, value, id, until)
  CROSS JOIN LATERAL (
    SELECT ctid, since FROM slot
    WHERE ws = %(ws)s AND property = u.property AND value = u.value AND id = u.id OFFSET 0
  ) s
), kept AS (
  INSERT INTO past (ws, property, value, level, since, id, until)
  SELECT %(ws)s, property, value, length(ltrim((until - since)::bit(64)::text, '0')),
         since, id, until
  FROM gone WHERE since <> until
), ended AS (
  DELETE FROM slot WHERE ws = %(ws)s AND ctid = ANY (ARRAY(SELECT place FROM gone)) RETURNING id
)
SELECT count(*) FROM ended

-- name: put_past
INSERT INTO past (ws, property, value, level, since, id, until)
SELECT %(ws)s, u.* FROM unnest(
  %(properties)s::bigint[], %(keys)s::bytea[], %(levels)s::bigint[], %(since)s::bigint[],
  %(ids)s::bigint[], %(until)s::bigint[]) u

-- name: put_transactions
INSERT INTO tx (ws, t, instant_us, principal, reason, ids, is_schema, nonce)
SELECT %(ws)s, u.t, u.instant_us, u.principal, u.reason, u.ids::bigint[], u.is_schema, %(nonce)s
FROM unnest(
  %(ts)s::bigint[], %(instants)s::bigint[], %(principals)s::text[], %(reasons)s::text[],
  %(id_lists)s::text[], %(is_schema)s::bigint[]
) u (t, instant_us, principal, reason, ids, is_schema)

-- name: put_secrets
INSERT INTO secret (ws, id, property, hash)
SELECT %(ws)s, u.* FROM unnest(
  %(ids)s::bigint[], %(properties)s::bigint[], %(hashes)s::text[]) u
ON CONFLICT (ws, id, property) DO UPDATE SET hash = excluded.hash

-- name: drop_secrets
DELETE FROM secret WHERE ws = %(ws)s AND id = ANY(%(ids)s)
  AND (id, property) IN (SELECT * FROM unnest(%(ids)s, %(properties)s))

-- name: put_records
INSERT INTO idempotency (ws, principal, key, digest, receipt, instant_us)
SELECT %(ws)s, u.* FROM unnest(
  %(principals)s::text[], %(keys)s::text[], %(digests)s::text[], %(receipts)s::text[],
  %(instants)s::bigint[]) u
ON CONFLICT (ws, principal, key) DO UPDATE
SET digest = excluded.digest, receipt = excluded.receipt, instant_us = excluded.instant_us

-- name: forget_records
DELETE FROM idempotency WHERE ctid = ANY (ARRAY(
  SELECT ctid FROM idempotency WHERE ws = %s AND instant_us < %s ORDER BY instant_us LIMIT 100))
