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
