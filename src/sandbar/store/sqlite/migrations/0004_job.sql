-- What entities have to have done by themselves, from a moment on. Somebody holds a job until
-- until_us (0: nobody ever did), and must show the token to write in its name.
CREATE TABLE job (
  ws        INTEGER NOT NULL,
  id        INTEGER NOT NULL,
  due_us    INTEGER NOT NULL,
  owner     TEXT,
  token     INTEGER,
  until_us  INTEGER NOT NULL,
  PRIMARY KEY (ws, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX job_by_due ON job (due_us);
