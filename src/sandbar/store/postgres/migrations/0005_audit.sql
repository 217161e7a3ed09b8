-- One row per request, under the n-th number of the run of a process; never arguments or results.
CREATE TABLE sandbar.audit (
  ws           bigint NOT NULL,
  run          bigint NOT NULL,
  n            bigint NOT NULL,
  at_us        bigint NOT NULL,
  principal    text COLLATE "C" NOT NULL,
  key          text COLLATE "C",
  surface      text COLLATE "C" NOT NULL,
  method       text COLLATE "C" NOT NULL,
  verb         text COLLATE "C",
  is_success   integer NOT NULL,
  code         text COLLATE "C",
  duration_us  bigint NOT NULL,
  request_id   text COLLATE "C",
  PRIMARY KEY (ws, run, n)
);

CREATE INDEX audit_by_instant ON sandbar.audit (ws, at_us);

-- The chain of each workspace: every seal covers rows of one run and the seal before it.
CREATE TABLE sandbar.seal (
  ws       bigint NOT NULL,
  number   bigint NOT NULL,
  run      bigint NOT NULL,
  first_n  bigint NOT NULL,
  last_n   bigint NOT NULL,
  count    bigint NOT NULL,
  at_us    bigint NOT NULL,
  hash     bytea NOT NULL,
  PRIMARY KEY (ws, number)
);

CREATE INDEX seal_by_run ON sandbar.seal (ws, run, last_n);

-- Token buckets: when each will be full, if nobody takes from it, and how long the last who did has
-- to wait (0: he got one). Rewritten by every request: pages with room let that happen in place.
CREATE TABLE sandbar.bucket (
  ws       bigint NOT NULL,
  id       bigint NOT NULL,
  full_us  bigint NOT NULL,
  wait_us  bigint NOT NULL,
  PRIMARY KEY (ws, id)
) WITH (fillfactor = 50);

-- When each key was last used.
CREATE TABLE sandbar.key_use (
  ws     bigint NOT NULL,
  id     bigint NOT NULL,
  at_us  bigint NOT NULL,
  PRIMARY KEY (ws, id)
) WITH (fillfactor = 50);

ALTER TABLE sandbar.audit ENABLE ROW LEVEL SECURITY;
ALTER TABLE sandbar.audit FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON sandbar.audit
  USING (ws = (SELECT NULLIF(current_setting('sandbar.ws', true), '')::bigint));

ALTER TABLE sandbar.seal ENABLE ROW LEVEL SECURITY;
ALTER TABLE sandbar.seal FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON sandbar.seal
  USING (ws = (SELECT NULLIF(current_setting('sandbar.ws', true), '')::bigint));

ALTER TABLE sandbar.bucket ENABLE ROW LEVEL SECURITY;
ALTER TABLE sandbar.bucket FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON sandbar.bucket
  USING (ws = (SELECT NULLIF(current_setting('sandbar.ws', true), '')::bigint));

ALTER TABLE sandbar.key_use ENABLE ROW LEVEL SECURITY;
ALTER TABLE sandbar.key_use FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON sandbar.key_use
  USING (ws = (SELECT NULLIF(current_setting('sandbar.ws', true), '')::bigint));

-- A workspace that was dropped leaves its row as a mark: a t below 0, and a name longer than a name
-- may be.
CREATE FUNCTION sandbar.all_workspaces() RETURNS TABLE (ws bigint, name text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
  SELECT w.ws, w.name FROM sandbar.workspace w WHERE w.t >= 0 ORDER BY w.name;
END;

-- First the row's lock, which whoever writes holds; then the session is bound to that workspace, and
-- to none if there is none of that name (any more): what is bound is what the policies let go.
CREATE FUNCTION sandbar.drop_workspace(wanted text, new_epoch bigint) RETURNS bigint
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
  DELETE FROM sandbar.unsearched x WHERE x.ws = (SELECT sandbar.bound());
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

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA sandbar FROM PUBLIC;
