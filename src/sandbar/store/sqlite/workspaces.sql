-- Dropping a workspace. First its row becomes a mark: a t below 0, and a name longer than a name may
-- be. The mark stays, so that the number is never given to another.

-- name: mark_dropped
UPDATE workspace
SET name = format('%0300d', ws), t = -1, generation = 0, epoch = ?, next_id = 1, instant_us = 0,
  stored_bytes = 0, history_bytes = 0, entities = 0, processes = 0, limits = '{}'
WHERE name = ? AND t >= 0 RETURNING ws

-- name: drop_search
DELETE FROM search WHERE rowid >= ?1 << 40 AND rowid < (?1 + 1) << 40

-- name: drop_entities
DELETE FROM entity WHERE place >= ?1 << 40 AND place < (?1 + 1) << 40

-- name: drop_rows
DELETE FROM {table} WHERE ws = ?
