-- Where one row leads to another, a LATERAL query with OFFSET 0 says so: the planner may not turn
-- it around, whatever it believes about the size of the tables.

-- name: workspace_by_name
SELECT workspace_by_name(%s)

-- name: create_workspace
SELECT create_workspace(%s, %s)

-- name: all_workspaces
SELECT ws, name FROM all_workspaces()

-- name: drop_workspace
SELECT drop_workspace(%s, %s)

-- name: reset_usage
UPDATE workspace
SET stored_bytes = 0, history_bytes = 0, entities = 0, processes = 0, limits = '{}'
WHERE ws = %s

-- name: bind
SELECT set_config('sandbar.ws', %s, false)

-- name: insist_on_sync
SELECT set_config('synchronous_commit', 'on', false)
WHERE current_setting('synchronous_commit') = 'off'

-- name: lock_workspace
BEGIN;
SELECT set_config('sandbar.ws', '{ws}', true);
SELECT t, generation, epoch, next_id, instant_us, stored_bytes, history_bytes, entities, processes,
  background_transitions, background_bytes, background_us, limits, clock_us()
FROM workspace WHERE ws = {ws} AND t >= 0 FOR UPDATE

-- name: usage
SELECT stored_bytes, history_bytes, entities, processes, background_transitions, background_bytes,
  background_us, limits, clock_us()
FROM workspace WHERE ws = %s AND t >= 0

-- name: set_limits
UPDATE workspace SET
  limits = %s,
  background_transitions = least(background_transitions, %s),
  background_bytes = least(background_bytes, %s)
WHERE ws = %s AND t >= 0 RETURNING 1

-- name: state
SELECT t, generation, epoch, next_id, instant_us FROM workspace WHERE ws = %s AND t >= 0

-- name: notify
SELECT pg_notify('sandbar', word) FROM unnest(%s) AS u (word)

-- name: listen
LISTEN sandbar

-- name: begin_limited
BEGIN; SET LOCAL statement_timeout = {ms}

-- name: limit_statements
SELECT set_config('statement_timeout', %s, true)

-- name: head
SELECT t, generation, epoch FROM workspace WHERE ws = %s AND t >= 0

-- name: nonce_at
SELECT nonce FROM tx WHERE ws = %s AND t = %s

-- name: point
SELECT w.t, w.generation, w.epoch, e.id, e.class, e.t, e.doc
FROM workspace w LEFT JOIN entity e ON e.ws = w.ws AND e.id = %s
WHERE w.ws = %s AND w.t >= 0

-- name: point_by_key
SELECT w.t, w.generation, w.epoch, e.id, e.class, e.t, e.doc
FROM workspace w
LEFT JOIN slot s ON s.ws = w.ws AND s.property = %s AND s.value = %s
LEFT JOIN entity e ON e.ws = s.ws AND e.id = s.id
WHERE w.ws = %s AND w.t >= 0
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
WHERE w.ws = %(ws)s AND w.t >= 0

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

-- name: entities_at
SELECT u.id, u.t, v.class, v.t, v.doc
FROM unnest(%(ids)s::bigint[], %(ts)s::bigint[]) AS u (id, t)
CROSS JOIN LATERAL (
  SELECT class, t, doc FROM entity WHERE ws = %(ws)s AND id = u.id AND t <= u.t
  UNION ALL
  (SELECT class, t, doc FROM version WHERE ws = %(ws)s AND id = u.id AND t <= u.t
   ORDER BY t DESC LIMIT 1)
  LIMIT 1
) v
WHERE v.doc IS NOT NULL

-- name: entity_as_of
SELECT id, class, t, doc FROM entity WHERE ws = %(ws)s AND id = %(id)s AND t <= %(t)s
UNION ALL
(SELECT id, class, t, doc FROM version WHERE ws = %(ws)s AND id = %(id)s AND t <= %(t)s
 ORDER BY t DESC LIMIT 1)
LIMIT 1

-- name: find
SELECT id FROM slot WHERE ws = %s AND property = %s AND value = %s ORDER BY id

-- name: count
SELECT count(*) FROM slot WHERE ws = %s AND property = %s AND value = %s

-- name: look_up
SELECT u.property, u.value, e.id, e.class, e.t, e.doc
FROM unnest(%(properties)s::bigint[], %(keys)s::bytea[]) AS u (property, value)
CROSS JOIN LATERAL (
  SELECT id FROM slot
  WHERE ws = %(ws)s AND property = u.property AND value = u.value ORDER BY id OFFSET 0
) s
CROSS JOIN LATERAL (
  SELECT id, class, t, doc FROM entity WHERE ws = %(ws)s AND id = s.id OFFSET 0
) e
UNION ALL
SELECT NULL, NULL, e.id, e.class, e.t, e.doc FROM unnest(%(ids)s) AS u (id)
CROSS JOIN LATERAL (
  SELECT id, class, t, doc FROM entity WHERE ws = %(ws)s AND id = u.id OFFSET 0
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

-- name: holders
SELECT u.value, s.id FROM unnest(%(keys)s::bytea[]) AS u (value)
CROSS JOIN LATERAL (
  SELECT id FROM slot
  WHERE ws = %(ws)s AND property = %(property)s AND value = u.value
  ORDER BY id LIMIT %(limit)s
) s
ORDER BY s.id

-- name: holders_as_of
SELECT u.value, s.id FROM unnest(%(keys)s::bytea[]) AS u (value)
CROSS JOIN LATERAL (
  (SELECT id FROM slot
   WHERE ws = %(ws)s AND property = %(property)s AND value = u.value AND since <= %(t)s
   ORDER BY id LIMIT %(limit)s)
  UNION
  (SELECT p.id FROM unnest(%(levels)s::bigint[], %(since)s::bigint[]) AS l (level, since)
   CROSS JOIN LATERAL (
     SELECT id FROM past
     WHERE ws = %(ws)s AND property = %(property)s AND value = u.value AND level = l.level
       AND since >= l.since AND since <= %(t)s AND until > %(t)s OFFSET 0
   ) p
   ORDER BY p.id LIMIT %(limit)s)
  ORDER BY id LIMIT %(limit)s
) s
ORDER BY s.id

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

-- name: recall_many
SELECT u.principal, u.key, r.digest, r.receipt, r.instant_us
FROM unnest(%(principals)s, %(keys)s) AS u (principal, key)
CROSS JOIN LATERAL (
  SELECT digest, receipt, instant_us FROM idempotency
  WHERE ws = %(ws)s AND principal = u.principal AND key = u.key OFFSET 0
) r

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

-- name: end_slots
WITH gone AS MATERIALIZED (
  SELECT u.*, s.ctid AS place, s.since FROM unnest(
    %(properties)s::bigint[], %(keys)s::bytea[], %(ids)s::bigint[], %(until)s::bigint[]
  ) u (property, value, id, until)
  CROSS JOIN LATERAL (
    SELECT ctid, since FROM slot
    WHERE ws = %(ws)s AND property = u.property AND value = u.value AND id = u.id OFFSET 0
  ) s
  LIMIT cardinality(%(ids)s::bigint[])
), kept AS (
  INSERT INTO past (ws, property, value, level, since, id, until)
  SELECT %(ws)s, property, value, length(ltrim((until - since)::bit(64)::text, '0')),
         since, id, until
  FROM gone WHERE since <> until
), ended AS (
  DELETE FROM slot USING gone WHERE ws = %(ws)s AND slot.ctid = gone.place RETURNING slot.id
)
SELECT count(*) FROM ended

-- name: put_rows
WITH begun AS (
  INSERT INTO slot (ws, property, value, id, since)
  SELECT %(ws)s, u.* FROM unnest(
    %(slot_properties)s, %(slot_keys)s, %(slot_ids)s, %(slot_since)s) u
), ended AS (
  INSERT INTO past (ws, property, value, level, since, id, until)
  SELECT %(ws)s, u.* FROM unnest(
    %(past_properties)s, %(past_keys)s, %(past_levels)s, %(past_since)s, %(past_ids)s,
    %(past_until)s) u
), superseded AS (
  INSERT INTO version (ws, id, t, class, doc)
  SELECT %(ws)s, u.* FROM unnest(
    %(version_ids)s, %(version_ts)s, %(version_classes)s, %(version_docs)s) u
  ON CONFLICT (ws, id, t) DO UPDATE SET class = excluded.class, doc = excluded.doc
), living AS (
  INSERT INTO entity (ws, id, class, t, doc)
  SELECT %(ws)s, u.* FROM unnest(
    %(entity_ids)s, %(entity_classes)s, %(entity_ts)s, %(entity_docs)s) u
  ON CONFLICT (ws, id) DO UPDATE SET class = excluded.class, t = excluded.t, doc = excluded.doc
), gone AS (
  DELETE FROM entity WHERE ws = %(ws)s AND id = ANY (%(gone_ids)s)
), unsearched AS (
  DELETE FROM search WHERE ws = %(ws)s AND id = ANY (%(unsearched_ids)s)
), searched AS (
  INSERT INTO search (ws, id, words)
  SELECT %(ws)s, u.id, u.words::tsvector
  FROM unnest(%(searched_ids)s, %(searched_words)s) u (id, words)
  ON CONFLICT (ws, id) DO UPDATE SET words = excluded.words
), committed AS (
  INSERT INTO tx (ws, t, instant_us, principal, reason, ids, is_schema, nonce)
  SELECT %(ws)s, u.t, u.instant_us, u.principal, u.reason, u.ids::bigint[], u.is_schema, %(nonce)s
  FROM unnest(
    %(tx_ts)s, %(tx_instants)s, %(tx_principals)s, %(tx_reasons)s, %(tx_id_lists)s,
    %(tx_is_schema)s
  ) u (t, instant_us, principal, reason, ids, is_schema)
)
UPDATE workspace
SET t = %(t)s, generation = %(generation)s, next_id = %(next_id)s, instant_us = %(instant_us)s,
  stored_bytes = stored_bytes + %(stored_bytes)s, entities = entities + %(entities)s,
  history_bytes = history_bytes + %(history_bytes)s, processes = processes + %(processes)s,
  background_transitions = %(background_transitions)s, background_bytes = %(background_bytes)s,
  background_us = %(background_us)s
WHERE ws = %(ws)s

-- name: put_secrets
WITH kept AS (
  INSERT INTO secret (ws, id, property, hash)
  SELECT %(ws)s, u.* FROM unnest(%(ids)s, %(properties)s, %(hashes)s) u
  ON CONFLICT (ws, id, property) DO UPDATE SET hash = excluded.hash
)
DELETE FROM secret WHERE ws = %(ws)s AND id = ANY (%(gone_ids)s)
  AND (id, property) IN (SELECT * FROM unnest(%(gone_ids)s, %(gone_properties)s))

-- name: put_records
WITH forgotten AS (
  DELETE FROM idempotency WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM idempotency
    WHERE ws = %(ws)s AND instant_us < %(oldest)s ORDER BY instant_us LIMIT 100))
  AND (principal, key) NOT IN (SELECT * FROM unnest(%(principals)s, %(keys)s))
)
INSERT INTO idempotency (ws, principal, key, digest, receipt, instant_us)
SELECT %(ws)s, u.* FROM unnest(
  %(principals)s, %(keys)s, %(digests)s, %(receipts)s, %(instants)s) u
ON CONFLICT (ws, principal, key) DO UPDATE
SET digest = excluded.digest, receipt = excluded.receipt, instant_us = excluded.instant_us

-- name: token
SELECT ws, name, id, is_revoked FROM token_of(%s)

-- name: put_token
INSERT INTO token (digest, ws, id, is_revoked) VALUES (%s, %s, %s, 0)

-- name: revoke_token
UPDATE token SET is_revoked = 1 WHERE ws = %s AND digest = %s

-- name: revoke_tokens
UPDATE token SET is_revoked = 1 WHERE ws = %s AND id = %s

-- name: former
SELECT id FROM past WHERE ws = %s AND property = %s AND value = %s
ORDER BY until DESC, id DESC LIMIT 1

-- name: last_version
SELECT v.t, v.class, v.doc, x.instant_us, x.principal, x.reason FROM (
  SELECT t, class, doc FROM version WHERE ws = %(ws)s AND id = %(id)s ORDER BY t DESC LIMIT 1
) v CROSS JOIN LATERAL (
  SELECT instant_us, principal, reason FROM tx WHERE ws = %(ws)s AND t = v.t OFFSET 0
) x

-- name: entities_after
SELECT id, class, t, doc FROM entity WHERE ws = %s AND id > %s ORDER BY id LIMIT %s

-- name: unsearched
SELECT mark FROM owed WHERE ws = %s AND duty = 'index'

-- name: note_searched
UPDATE owed SET mark = %s WHERE ws = %s AND duty = 'index'

-- name: all_searched
DELETE FROM owed WHERE ws = %s AND duty = 'index'

-- Rare words are found by the index of words, which gives all that have them in no order. Classes
-- are looked up from the greatest id on, of no more than are wanted.

-- name: search_rare
SELECT q.place, f.id FROM unnest(%(queries)s::tsquery[]) WITH ORDINALITY q (query, place)
CROSS JOIN LATERAL (
  SELECT s.id FROM (
    SELECT id FROM found(%(ws)s, q.query, NULL, '{}', NULL, 0)
    WHERE id < %(below)s ORDER BY id DESC OFFSET 0) s
  WHERE (%(classes)s::bigint[] IS NULL OR EXISTS (
      SELECT FROM entity e
      WHERE e.ws = %(ws)s AND e.id = s.id AND e.class = ANY (%(classes)s::bigint[])))
    AND (%(hidden)s = '{}' OR NOT EXISTS (
      SELECT FROM entity e
      WHERE e.ws = %(ws)s AND e.id = s.id AND e.class = ANY (%(hidden)s)))
  LIMIT %(most)s) f
ORDER BY q.place, f.id DESC

-- Words that many have are met soon by a walk down the ids, which ends as soon as it has enough.

-- name: search_common
SELECT q.place, f.id FROM unnest(%(queries)s::tsquery[]) WITH ORDINALITY q (query, place)
CROSS JOIN LATERAL (
  SELECT s.id FROM search s
  WHERE s.ws = %(ws)s AND s.id < %(below)s AND s.words @@ q.query
    AND (%(classes)s::bigint[] IS NULL OR EXISTS (
      SELECT FROM entity e
      WHERE e.ws = %(ws)s AND e.id = s.id AND e.class = ANY (%(classes)s::bigint[])))
    AND (%(hidden)s = '{}' OR NOT EXISTS (
      SELECT FROM entity e
      WHERE e.ws = %(ws)s AND e.id = s.id AND e.class = ANY (%(hidden)s)))
  ORDER BY s.id DESC LIMIT %(most)s) f
ORDER BY q.place, f.id DESC

-- How many of a sample, a few rows each from many places, have the words.

-- name: search_sample
SELECT q.place, count(*) FROM unnest(%(places)s) p (id)
CROSS JOIN LATERAL (
  SELECT s.id, s.words FROM search s
  WHERE s.ws = %(ws)s AND s.id < p.id ORDER BY s.id DESC LIMIT %(rows)s) s
CROSS JOIN unnest(%(queries)s::tsquery[]) WITH ORDINALITY q (query, place)
WHERE s.words @@ q.query
  AND (%(classes)s::bigint[] IS NULL OR EXISTS (
    SELECT FROM entity e
    WHERE e.ws = %(ws)s AND e.id = s.id AND e.class = ANY (%(classes)s::bigint[])))
  AND (%(hidden)s = '{}' OR NOT EXISTS (
    SELECT FROM entity e
    WHERE e.ws = %(ws)s AND e.id = s.id AND e.class = ANY (%(hidden)s)))
GROUP BY q.place

-- name: erase_usage
UPDATE workspace SET history_bytes = history_bytes - (
  SELECT coalesce(sum(octet_length(doc)), 0) FROM version WHERE ws = %(ws)s AND id = %(id)s)
WHERE ws = %(ws)s

-- name: erase
SELECT erase(%s, %s)
