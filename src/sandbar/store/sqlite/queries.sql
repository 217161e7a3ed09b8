-- name: table_count
SELECT count(*) FROM sqlite_schema

-- name: has_migrations
SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'migration'

-- name: migration_number
SELECT coalesce(max(number), 0) FROM migration

-- name: note_migration
INSERT INTO migration (number, name) VALUES (?, ?)

-- name: workspace_by_name
SELECT ws FROM workspace WHERE name = ? AND t >= 0

-- name: workspaces
SELECT ws, name FROM workspace WHERE t >= 0 ORDER BY name

-- name: create_workspace
INSERT INTO workspace (name, t, generation, epoch, next_id, instant_us)
VALUES (?, 0, 0, ?, 1, 0) ON CONFLICT (name) DO NOTHING

-- name: state
SELECT t, generation, epoch, next_id, instant_us FROM workspace WHERE ws = ? AND t >= 0

-- name: head
SELECT t, generation, epoch FROM workspace WHERE ws = ? AND t >= 0

-- What is used changes by so much; what was spent in the background is so much now.

-- name: save_state
UPDATE workspace SET t = ?, generation = ?, next_id = ?, instant_us = ?,
  stored_bytes = stored_bytes + ?, history_bytes = history_bytes + ?, entities = entities + ?,
  processes = processes + ?, background_transitions = ?, background_bytes = ?, background_us = ?
WHERE ws = ?

-- name: state_and_usage
SELECT t, generation, epoch, next_id, instant_us, stored_bytes, history_bytes, entities, processes,
  background_transitions, background_bytes, background_us, limits
FROM workspace WHERE ws = ? AND t >= 0

-- name: usage
SELECT stored_bytes, history_bytes, entities, processes, background_transitions, background_bytes,
  background_us, limits
FROM workspace WHERE ws = ? AND t >= 0

-- name: set_limits
UPDATE workspace SET
  limits = ?,
  background_transitions = min(background_transitions, ?),
  background_bytes = min(background_bytes, ?)
WHERE ws = ? AND t >= 0

-- The head comes by scalar subqueries, because a join costs twice as much. No entity, no row.

-- name: point
SELECT (SELECT t FROM workspace WHERE ws = ?1), (SELECT generation FROM workspace WHERE ws = ?1),
       (SELECT epoch FROM workspace WHERE ws = ?1), id, class, t, doc
FROM entity WHERE place = (?1 << 40) + ?2 AND ws = ?1

-- name: point_by_key
SELECT (SELECT t FROM workspace WHERE ws = ?1), (SELECT generation FROM workspace WHERE ws = ?1),
       (SELECT epoch FROM workspace WHERE ws = ?1), id, class, t, doc
FROM entity WHERE ws = ?1 AND place = (?1 << 40) +
 (SELECT id FROM slot WHERE ws = ?1 AND property = ?2 AND value = ?3 LIMIT 1)

-- name: point_unless_later
SELECT (SELECT t FROM workspace WHERE ws = ?1), (SELECT generation FROM workspace WHERE ws = ?1),
       (SELECT epoch FROM workspace WHERE ws = ?1), id, class, t, doc
FROM entity WHERE place = (?1 << 40) + ?2 AND ws = ?1 AND t <= ?3

-- name: point_in_past
SELECT (SELECT t FROM workspace WHERE ws = ?1), (SELECT generation FROM workspace WHERE ws = ?1),
       (SELECT epoch FROM workspace WHERE ws = ?1), id, class, t, doc
FROM version WHERE ws = ?1 AND id = ?2 AND t <= ?3 ORDER BY t DESC LIMIT 1

-- name: entity
SELECT id, class, t, doc FROM entity WHERE place = (?1 << 40) + ?2 AND ws = ?1

-- name: entity_as_of
SELECT id, class, t, doc FROM entity WHERE place = (?1 << 40) + ?2 AND ws = ?1 AND t <= ?3
UNION ALL
SELECT id, class, t, doc FROM (
  SELECT id, class, t, doc FROM version WHERE ws = ?1 AND id = ?2 AND t <= ?3
  ORDER BY t DESC LIMIT 1)
LIMIT 1

-- name: find
SELECT id FROM slot WHERE ws = ? AND property = ? AND value = ? ORDER BY id

-- name: count
SELECT count(*) FROM slot WHERE ws = ? AND property = ? AND value = ?

-- name: find_as_of
SELECT id FROM slot WHERE ws = ?1 AND property = ?2 AND value = ?3 AND since <= ?4
UNION
SELECT p.id FROM json_each(?5) l CROSS JOIN past p
  ON p.ws = ?1 AND p.property = ?2 AND p.value = ?3
 AND p.level = l.value ->> 0 AND p.since >= l.value ->> 1 AND p.since <= ?4 AND p.until > ?4
ORDER BY id

-- name: holders
SELECT id FROM slot WHERE ws = ? AND property = ? AND value = ? ORDER BY id LIMIT ?

-- name: holders_as_of
SELECT id FROM (SELECT id FROM slot
  WHERE ws = ?1 AND property = ?2 AND value = ?3 AND since <= ?4 ORDER BY id LIMIT ?6)
UNION
SELECT id FROM (SELECT p.id AS id FROM json_each(?5) l CROSS JOIN past p
  ON p.ws = ?1 AND p.property = ?2 AND p.value = ?3
  AND p.level = l.value ->> 0 AND p.since >= l.value ->> 1 AND p.since <= ?4 AND p.until > ?4
  ORDER BY p.id LIMIT ?6)
ORDER BY id LIMIT ?6

-- name: referrers
SELECT property, id FROM slot
WHERE ws = ?1 AND property IN (SELECT value FROM json_each(?2)) AND value = ?3
ORDER BY property, id LIMIT ?4

-- name: secret
SELECT hash FROM secret WHERE ws = ? AND id = ? AND property = ?

-- name: recall
SELECT digest, receipt, instant_us FROM idempotency WHERE ws = ? AND principal = ? AND key = ?

-- name: versions
SELECT v.t, v.class, v.doc, x.instant_us, x.principal, x.reason FROM (
  SELECT t, class, doc FROM version WHERE ws = ?1 AND id = ?2 AND t > ?3
    -- A deletion that the same transaction took back is no state.
    AND t <> coalesce((SELECT t FROM entity WHERE place = (?1 << 40) + ?2 AND ws = ?1), 0)
  UNION ALL
  SELECT t, class, doc FROM entity WHERE place = (?1 << 40) + ?2 AND ws = ?1 AND t > ?3
) v JOIN tx x ON x.ws = ?1 AND x.t = v.t
ORDER BY v.t LIMIT ?4

-- name: transactions
SELECT t, instant_us, principal, reason, ids FROM tx WHERE ws = ? AND t > ? ORDER BY t LIMIT ?

-- name: transaction_at
SELECT t FROM tx WHERE ws = ? AND instant_us <= ? ORDER BY instant_us DESC LIMIT 1

-- name: schema_changes
SELECT t FROM tx WHERE ws = ? AND is_schema = 1 ORDER BY t

-- name: put_entity
INSERT INTO entity (place, class, t, doc) VALUES ((?1 << 40) + ?2, ?3, ?4, ?5)
ON CONFLICT (place) DO UPDATE SET class = excluded.class, t = excluded.t, doc = excluded.doc

-- name: drop_entity
DELETE FROM entity WHERE place = (?1 << 40) + ?2 AND ws = ?1

-- name: put_version
INSERT INTO version (ws, id, t, class, doc) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (ws, id, t) DO UPDATE SET class = excluded.class, doc = excluded.doc

-- name: begin_slot
INSERT INTO slot (ws, property, value, id, since) VALUES (?, ?, ?, ?, ?)

-- name: end_slot
DELETE FROM slot WHERE ws = ? AND property = ? AND value = ? AND id = ? RETURNING since

-- name: put_past
INSERT INTO past (ws, property, value, level, since, id, until) VALUES (?, ?, ?, ?, ?, ?, ?)

-- name: put_transaction
INSERT INTO tx (ws, t, instant_us, principal, reason, ids, is_schema, nonce)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)

-- name: put_secret
INSERT INTO secret (ws, id, property, hash) VALUES (?, ?, ?, ?)
ON CONFLICT (ws, id, property) DO UPDATE SET hash = excluded.hash

-- name: drop_secret
DELETE FROM secret WHERE ws = ? AND id = ? AND property = ?

-- name: put_record
INSERT INTO idempotency (ws, principal, key, digest, receipt, instant_us)
VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (ws, principal, key) DO UPDATE
SET digest = excluded.digest, receipt = excluded.receipt, instant_us = excluded.instant_us

-- name: forget_records
DELETE FROM idempotency WHERE (ws, principal, key) IN (
  SELECT ws, principal, key FROM idempotency WHERE ws = ? AND instant_us < ?
  ORDER BY instant_us LIMIT 100)

-- name: token
SELECT t.ws, w.name, t.id, t.is_revoked FROM token t JOIN workspace w ON w.ws = t.ws
WHERE t.digest = ?

-- name: put_token
INSERT INTO token (digest, ws, id, is_revoked) VALUES (?, ?, ?, 0)

-- name: revoke_token
UPDATE token SET is_revoked = 1 WHERE ws = ? AND digest = ?

-- name: revoke_tokens
UPDATE token SET is_revoked = 1 WHERE ws = ? AND id = ?

-- name: former
SELECT id FROM past WHERE ws = ? AND property = ? AND value = ? ORDER BY until DESC, id DESC LIMIT 1

-- name: last_version
SELECT v.t, v.class, v.doc, x.instant_us, x.principal, x.reason
FROM version v JOIN tx x ON x.ws = v.ws AND x.t = v.t
WHERE v.ws = ? AND v.id = ? ORDER BY v.t DESC LIMIT 1

-- name: entities_after
SELECT id, class, t, doc FROM entity
WHERE place > (?1 << 40) + ?2 AND place < ((?1 + 1) << 40) AND ws = ?1 ORDER BY place LIMIT ?3

-- name: unsearched
SELECT mark FROM owed WHERE ws = ? AND duty = 'index'

-- name: note_searched
UPDATE owed SET mark = ? WHERE ws = ? AND duty = 'index'

-- name: all_searched
DELETE FROM owed WHERE ws = ? AND duty = 'index'

-- The walk begins at the greatest id and ends as soon as it has enough, so that a word of a million
-- entities costs no more than one of a thousand. The class is looked up only if anybody cares.

-- name: search
SELECT m.rowid & 1099511627775 FROM search m
WHERE m.search MATCH ?1 AND m.rowid < ?2
  AND (?3 IS NULL OR (SELECT e.class FROM entity e WHERE e.place = m.rowid)
                     IN (SELECT value FROM json_each(?3)))
  AND (?4 IS NULL OR (SELECT e.class FROM entity e WHERE e.place = m.rowid)
                     NOT IN (SELECT value FROM json_each(?4)))
ORDER BY m.rowid DESC LIMIT ?5

-- name: put_words
INSERT INTO search (rowid, words) VALUES (?, ?)

-- name: replace_words
INSERT OR REPLACE INTO search (rowid, words) VALUES (?, ?)

-- name: drop_words
DELETE FROM search WHERE rowid = ?

-- name: begin_merging
INSERT INTO search (search, rank) VALUES ('merge', -64)

-- name: go_on_merging
INSERT INTO search (search, rank) VALUES ('merge', 64)

-- name: write_anew
VACUUM

-- name: empty_log
PRAGMA wal_checkpoint(TRUNCATE)

-- name: erase_usage
UPDATE workspace SET history_bytes = history_bytes - (
  SELECT coalesce(sum(octet_length(doc)), 0) FROM version WHERE ws = ?1 AND id = ?2)
WHERE ws = ?1

-- name: erase_versions
DELETE FROM version WHERE ws = ? AND id = ?

-- name: erase_past
DELETE FROM past WHERE ws = ? AND id = ?

-- name: erase_secrets
DELETE FROM secret WHERE ws = ? AND id = ?

-- name: erase_records
DELETE FROM idempotency WHERE ws = ?1 AND EXISTS (
  SELECT 1 FROM json_each(receipt, '$.outcomes') o WHERE o.value ->> 'entity-id' = ?2)
