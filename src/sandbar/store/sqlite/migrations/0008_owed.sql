-- What a commit leaves to be done after it: written by that commit, removed when it is done.
CREATE TABLE owed (
  ws        INTEGER NOT NULL,
  duty      TEXT NOT NULL,
  mark      INTEGER NOT NULL,
  since_us  INTEGER NOT NULL,
  tries     INTEGER NOT NULL,
  due_us    INTEGER NOT NULL,
  PRIMARY KEY (ws, duty)
) STRICT, WITHOUT ROWID;

INSERT INTO owed (ws, duty, mark, since_us, tries, due_us)
SELECT ws, 'index', after, CAST(unixepoch('subsec') * 1000000 AS INTEGER), 0, 0 FROM unsearched;

DROP TABLE unsearched;

-- Until now a server that died before it had overwritten what was purged or dropped left no note of it.
INSERT INTO owed (ws, duty, mark, since_us, tries, due_us)
SELECT w.ws, 'scrub', max(w.t, 0), CAST(unixepoch('subsec') * 1000000 AS INTEGER), 0, 0
FROM workspace w
WHERE w.t < 0 OR EXISTS (SELECT 1 FROM version v WHERE v.ws = w.ws AND v.class = 0);
