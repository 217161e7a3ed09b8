-- The schema of a new SQLite database. Old ones get here by migrations/; a test compares.
-- ws leads every key: a workspace is a database of its own.

CREATE TABLE migration (
  number  INTEGER PRIMARY KEY,
  name    TEXT NOT NULL
) STRICT;

-- Counters of each workspace. epoch is drawn anew by a restore, so that a repeated t is noticed.
-- What it uses is advanced by every write; background_… is what the server has done by itself, in a
-- bucket that empties steadily, as it was at background_us. limits is JSON: what the operator set.
CREATE TABLE workspace (
  ws          INTEGER PRIMARY KEY CHECK (ws < 8388608),
  name        TEXT NOT NULL UNIQUE,
  t           INTEGER NOT NULL,
  generation  INTEGER NOT NULL,
  epoch       INTEGER NOT NULL,
  next_id     INTEGER NOT NULL,
  instant_us  INTEGER NOT NULL,
  stored_bytes  INTEGER NOT NULL DEFAULT 0,
  history_bytes  INTEGER NOT NULL DEFAULT 0,
  entities  INTEGER NOT NULL DEFAULT 0,
  processes  INTEGER NOT NULL DEFAULT 0,
  background_transitions  REAL NOT NULL DEFAULT 0,
  background_bytes  REAL NOT NULL DEFAULT 0,
  background_us  INTEGER NOT NULL DEFAULT 0,
  limits  TEXT NOT NULL DEFAULT '{}'
) STRICT;

-- One row per committed transaction; ids is a JSON array of the entities it changed.
CREATE TABLE tx (
  ws          INTEGER NOT NULL,
  t           INTEGER NOT NULL,
  instant_us  INTEGER NOT NULL,
  principal   TEXT NOT NULL,
  reason      TEXT,
  ids         TEXT NOT NULL,
  is_schema   INTEGER NOT NULL,
  nonce       BLOB NOT NULL,
  PRIMARY KEY (ws, t)
) STRICT, WITHOUT ROWID;

CREATE INDEX tx_by_instant ON tx (ws, instant_us);
CREATE INDEX tx_of_schema ON tx (ws, t) WHERE is_schema = 1;

-- The current document of every living entity. place is workspace and id in one number, ws first:
-- with the rowid as its key the table needs no second tree, and its inner pages stay small enough
-- for the cache. Whoever looks a place up also asks for its ws, since an id may be out of range.
CREATE TABLE entity (
  place  INTEGER PRIMARY KEY,
  class  INTEGER NOT NULL,
  t      INTEGER NOT NULL,
  doc    TEXT NOT NULL,
  ws     INTEGER NOT NULL GENERATED ALWAYS AS (place >> 40) VIRTUAL,
  id     INTEGER NOT NULL GENERATED ALWAYS AS (place & 1099511627775) VIRTUAL
) STRICT;

-- Every superseded document under the t that brought it; a null document is a deletion.
CREATE TABLE version (
  ws     INTEGER NOT NULL,
  id     INTEGER NOT NULL,
  t      INTEGER NOT NULL,
  class  INTEGER NOT NULL,
  doc    TEXT,
  PRIMARY KEY (ws, id, t)
) STRICT, WITHOUT ROWID;

-- Index of current values.
CREATE TABLE slot (
  ws        INTEGER NOT NULL,
  property  INTEGER NOT NULL,
  value     BLOB NOT NULL,
  id        INTEGER NOT NULL,
  since     INTEGER NOT NULL,
  PRIMARY KEY (ws, property, value, id)
) STRICT, WITHOUT ROWID;

-- Index of ended values: they held in since <= t < until. level is the bit length of that span,
-- so that a look at any moment touches one short range per level.
CREATE TABLE past (
  ws        INTEGER NOT NULL,
  property  INTEGER NOT NULL,
  value     BLOB NOT NULL,
  level     INTEGER NOT NULL,
  since     INTEGER NOT NULL,
  id        INTEGER NOT NULL,
  until     INTEGER NOT NULL,
  PRIMARY KEY (ws, property, value, level, since, id)
) STRICT, WITHOUT ROWID;

-- Hashes of secret slots: in no document, version, index or export.
CREATE TABLE secret (
  ws        INTEGER NOT NULL,
  id        INTEGER NOT NULL,
  property  INTEGER NOT NULL,
  hash      TEXT NOT NULL,
  PRIMARY KEY (ws, id, property)
) STRICT, WITHOUT ROWID;

-- Receipts of requests that carried an idempotency key.
CREATE TABLE idempotency (
  ws          INTEGER NOT NULL,
  principal   TEXT NOT NULL,
  key         TEXT NOT NULL,
  digest      TEXT NOT NULL,
  receipt     TEXT NOT NULL,
  instant_us  INTEGER NOT NULL,
  PRIMARY KEY (ws, principal, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_by_age ON idempotency (ws, instant_us);

-- Digests of minted keys. Unique over all workspaces, because a key is looked up before anybody knows
-- whose it is; only signing in reads this table.
CREATE TABLE token (
  digest      BLOB PRIMARY KEY,
  ws          INTEGER NOT NULL,
  id          INTEGER NOT NULL,
  is_revoked  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX token_by_account ON token (ws, id);

-- What entities have to have done by themselves, from a moment on. Somebody holds a job until
-- until_us (0: nobody ever did), and must show the token to write in its name. over_us: since when
-- it waits because the budget of its workspace is used up.
CREATE TABLE job (
  ws        INTEGER NOT NULL,
  id        INTEGER NOT NULL,
  due_us    INTEGER NOT NULL,
  owner     TEXT,
  token     INTEGER,
  until_us  INTEGER NOT NULL,
  over_us   INTEGER,
  PRIMARY KEY (ws, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX job_by_due ON job (due_us);

-- Full-text search: the words of every living entity, written by the transaction that writes it.
-- The row is the entity's place. Every word has its workspace's number before it, so that a search
-- reads the postings of its own workspace only. The words come ready-made: this tokenizer parts
-- them at blanks and changes nothing. The text itself is not kept a second time.
CREATE VIRTUAL TABLE search USING fts5(
  words, content = '', contentless_delete = 1, tokenize = "ascii tokenchars '_'"
);

-- Fewer, larger merges: a third of what indexing costs, for a search that looks in more places.
INSERT INTO search (search, rank) VALUES ('automerge', 16);

-- Those above that number bit by bit, so that no write has to wait for all of it.
INSERT INTO search (search, rank) VALUES ('crisismerge', 64);

-- What a commit leaves to be done after it: written by that commit, removed when it is done. A scrub
-- overwrites what was erased; mark is the t of the last commit that owes it. An index makes entities
-- searchable that were there before their words were; mark is the id up to which that is done.
CREATE TABLE owed (
  ws        INTEGER NOT NULL,
  duty      TEXT NOT NULL,
  mark      INTEGER NOT NULL,
  since_us  INTEGER NOT NULL,
  tries     INTEGER NOT NULL,
  due_us    INTEGER NOT NULL,
  PRIMARY KEY (ws, duty)
) STRICT, WITHOUT ROWID;

-- One row per request, under the n-th number of the run of a process; never arguments or results.
CREATE TABLE audit (
  ws           INTEGER NOT NULL,
  run          INTEGER NOT NULL,
  n            INTEGER NOT NULL,
  at_us        INTEGER NOT NULL,
  principal    TEXT NOT NULL,
  key          TEXT,
  surface      TEXT NOT NULL,
  method       TEXT NOT NULL,
  verb         TEXT,
  is_success   INTEGER NOT NULL,
  code         TEXT,
  duration_us  INTEGER NOT NULL,
  request_id   TEXT,
  PRIMARY KEY (ws, run, n)
) STRICT, WITHOUT ROWID;

CREATE INDEX audit_by_instant ON audit (ws, at_us);

-- The chain of each workspace: every seal covers rows of one run and the seal before it.
CREATE TABLE seal (
  ws       INTEGER NOT NULL,
  number   INTEGER NOT NULL,
  run      INTEGER NOT NULL,
  first_n  INTEGER NOT NULL,
  last_n   INTEGER NOT NULL,
  count    INTEGER NOT NULL,
  at_us    INTEGER NOT NULL,
  hash     BLOB NOT NULL,
  PRIMARY KEY (ws, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX seal_by_run ON seal (ws, run, last_n);

-- Both stay as they were written, until their workspace is dropped: its t is below 0 then.
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
BEGIN SELECT raise(ABORT, 'rows of the audit are not changed'); END;

CREATE TRIGGER audit_is_not_deleted BEFORE DELETE ON audit
WHEN (SELECT t FROM workspace WHERE ws = old.ws) >= 0
BEGIN SELECT raise(ABORT, 'rows of the audit are not deleted'); END;

CREATE TRIGGER seal_is_not_changed BEFORE UPDATE ON seal
BEGIN SELECT raise(ABORT, 'seals are not changed'); END;

CREATE TRIGGER seal_is_not_deleted BEFORE DELETE ON seal
WHEN (SELECT t FROM workspace WHERE ws = old.ws) >= 0
BEGIN SELECT raise(ABORT, 'seals are not deleted'); END;

-- When each key was last used.
CREATE TABLE key_use (
  ws     INTEGER NOT NULL,
  id     INTEGER NOT NULL,
  at_us  INTEGER NOT NULL,
  PRIMARY KEY (ws, id)
) STRICT, WITHOUT ROWID;
