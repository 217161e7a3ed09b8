-- Budgets. What each workspace uses is counted once from what is there, and by every write from now
-- on. 25 is db/ident: a process holds workflow/active? until it has ended.
ALTER TABLE workspace ADD COLUMN stored_bytes  INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workspace ADD COLUMN history_bytes  INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workspace ADD COLUMN entities  INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workspace ADD COLUMN processes  INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workspace ADD COLUMN background_transitions  REAL NOT NULL DEFAULT 0;
ALTER TABLE workspace ADD COLUMN background_bytes  REAL NOT NULL DEFAULT 0;
ALTER TABLE workspace ADD COLUMN background_us  INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workspace ADD COLUMN limits  TEXT NOT NULL DEFAULT '{}';

UPDATE workspace AS w SET
  (stored_bytes, entities) = (
    SELECT coalesce(sum(octet_length(doc)), 0), count(*) FROM entity
    WHERE place >= w.ws << 40 AND place < (w.ws + 1) << 40),
  history_bytes = (SELECT coalesce(sum(octet_length(doc)), 0) FROM version WHERE ws = w.ws),
  processes = (SELECT count(*) FROM slot WHERE ws = w.ws AND value = x'01' AND property = (
    SELECT id FROM slot
    WHERE ws = w.ws AND property = 25 AND value = CAST('workflow/active?' AS BLOB)));

-- Since when a job waits because the budget of its workspace is used up.
ALTER TABLE job ADD COLUMN over_us   INTEGER;
