-- What a commit leaves to be done after it: written by that commit, removed when it is done. An index
-- makes entities searchable that were there before their words were; mark is the id up to which that
-- is done. A scrub is owed on SQLite only: here vacuum clears away what was erased.
CREATE TABLE sandbar.owed (
  ws        bigint NOT NULL,
  duty      text COLLATE "C" NOT NULL,
  mark      bigint NOT NULL,
  since_us  bigint NOT NULL,
  tries     bigint NOT NULL,
  due_us    bigint NOT NULL,
  PRIMARY KEY (ws, duty)
);

-- Its policy would hide the rows from the owner, too, who is bound to no workspace.
ALTER TABLE sandbar.unsearched NO FORCE ROW LEVEL SECURITY;

INSERT INTO sandbar.owed (ws, duty, mark, since_us, tries, due_us)
SELECT u.ws, 'index', u.after, sandbar.clock_us(), 0, 0 FROM sandbar.unsearched u;

ALTER TABLE sandbar.owed ENABLE ROW LEVEL SECURITY;
ALTER TABLE sandbar.owed FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON sandbar.owed
  USING (ws = (SELECT NULLIF(current_setting('sandbar.ws', true), '')::bigint));

-- The same as before, but for the name of a table.
CREATE OR REPLACE FUNCTION sandbar.drop_workspace(wanted text, new_epoch bigint) RETURNS bigint
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
  SELECT FROM sandbar.workspace w WHERE w.name = wanted FOR UPDATE;
  SELECT set_config('sandbar.ws', coalesce(
    (SELECT w.ws::text FROM sandbar.workspace w WHERE w.name = wanted AND w.t >= 0), ''), true);
  DELETE FROM sandbar.tx x WHERE x.ws = (SELECT sandbar.bound());
  DELETE FROM sandbar.entity x WHERE x.ws = (SELECT sandbar.bound());
  DELETE FROM sandbar.version x WHERE x.ws = (SELECT sandbar.bound());
  DELETE FROM sandbar.slot x WHERE x.ws = (SELECT sandbar.bound());
  DELETE FROM sandbar.past x WHERE x.ws = (SELECT sandbar.bound());
  DELETE FROM sandbar.secret x WHERE x.ws = (SELECT sandbar.bound());
  DELETE FROM sandbar.idempotency x WHERE x.ws = (SELECT sandbar.bound());
  DELETE FROM sandbar.token x WHERE x.ws = (SELECT sandbar.bound());
  DELETE FROM sandbar.search x WHERE x.ws = (SELECT sandbar.bound());
  DELETE FROM sandbar.owed x WHERE x.ws = (SELECT sandbar.bound());
  DELETE FROM sandbar.job x WHERE x.ws = (SELECT sandbar.bound());
  DELETE FROM sandbar.audit x WHERE x.ws = (SELECT sandbar.bound());
  DELETE FROM sandbar.seal x WHERE x.ws = (SELECT sandbar.bound());
  DELETE FROM sandbar.bucket x WHERE x.ws = (SELECT sandbar.bound());
  DELETE FROM sandbar.key_use x WHERE x.ws = (SELECT sandbar.bound());
  UPDATE sandbar.workspace w
  SET name = lpad(w.ws::text, 300, '0'), t = -1, generation = 0, epoch = new_epoch, next_id = 1,
      instant_us = 0
  WHERE w.ws = (SELECT sandbar.bound());
  SELECT sandbar.bound();
END;

DROP TABLE sandbar.unsearched;

-- Whoever works duties off does so for all workspaces. These functions tell what is owed and to which
-- workspace, and nothing of what is in it. A duty that is claimed is nobody else's for a while.
CREATE POLICY claiming ON sandbar.owed TO CURRENT_USER USING (true) WITH CHECK (true);

CREATE FUNCTION sandbar.owed_duties()
RETURNS TABLE (ws bigint, name text, duty text, since_us bigint, tries bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
  SELECT o.ws, (SELECT w.name FROM sandbar.workspace w WHERE w.ws = o.ws AND w.t >= 0), o.duty,
         o.since_us, o.tries
  FROM sandbar.owed o ORDER BY o.since_us, o.ws, o.duty;
END;

CREATE FUNCTION sandbar.claim_owed(lease_us bigint)
RETURNS TABLE (ws bigint, name text, duty text, since_us bigint, tries bigint)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
  WITH clock AS MATERIALIZED (SELECT sandbar.clock_us() AS now),
  due AS MATERIALIZED (
    SELECT o.ws, o.duty FROM sandbar.owed o WHERE o.due_us <= (SELECT now FROM clock)
    ORDER BY o.due_us, o.ws, o.duty LIMIT 1 FOR UPDATE SKIP LOCKED
  ), claimed AS (
    UPDATE sandbar.owed o SET due_us = (SELECT now FROM clock) + lease_us
    FROM due d WHERE o.ws = d.ws AND o.duty = d.duty
    RETURNING o.ws, o.duty, o.since_us, o.tries
  )
  SELECT c.ws, (SELECT w.name FROM sandbar.workspace w WHERE w.ws = c.ws AND w.t >= 0), c.duty,
         c.since_us, c.tries
  FROM claimed c;
END;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA sandbar FROM PUBLIC;
