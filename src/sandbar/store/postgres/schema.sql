-- The schema of a new PostgreSQL database. Old ones get here by migrations/; a test compares.
-- ws leads every key: a workspace is a database of its own.

CREATE TABLE sandbar.migration (
  number  integer PRIMARY KEY,
  name    text NOT NULL
);

-- Counters of each workspace. epoch is drawn anew by a restore, so that a repeated t is noticed.
-- What it uses is advanced by every write; background_… is what the server has done by itself, in a
-- bucket that empties steadily, as it was at background_us. limits is JSON: what the operator set.
-- The row is rewritten by every batch: half-empty pages let that happen in place.
CREATE TABLE sandbar.workspace (
  ws          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name        text COLLATE "C" NOT NULL UNIQUE,
  t           bigint NOT NULL,
  generation  bigint NOT NULL,
  epoch       bigint NOT NULL,
  next_id     bigint NOT NULL,
  instant_us  bigint NOT NULL,
  stored_bytes            bigint NOT NULL DEFAULT 0,
  history_bytes           bigint NOT NULL DEFAULT 0,
  entities                bigint NOT NULL DEFAULT 0,
  processes               bigint NOT NULL DEFAULT 0,
  background_transitions  float8 NOT NULL DEFAULT 0,
  background_bytes        float8 NOT NULL DEFAULT 0,
  background_us           bigint NOT NULL DEFAULT 0,
  limits                  text NOT NULL DEFAULT '{}'
) WITH (fillfactor = 50);

-- One row per committed transaction, with the ids of the entities it changed.
CREATE TABLE sandbar.tx (
  ws          bigint NOT NULL,
  t           bigint NOT NULL,
  instant_us  bigint NOT NULL,
  principal   text COLLATE "C" NOT NULL,
  reason      text,
  ids         bigint[] NOT NULL,
  is_schema   integer NOT NULL,
  nonce       bytea NOT NULL,
  PRIMARY KEY (ws, t)
);

CREATE INDEX tx_by_instant ON sandbar.tx (ws, instant_us);
CREATE INDEX tx_of_schema ON sandbar.tx (ws, t) WHERE is_schema = 1;

-- The current document of every living entity.
CREATE TABLE sandbar.entity (
  ws     bigint NOT NULL,
  id     bigint NOT NULL,
  class  bigint NOT NULL,
  t      bigint NOT NULL,
  doc    text NOT NULL,
  PRIMARY KEY (ws, id)
) WITH (fillfactor = 90);

-- Every superseded document under the t that brought it; a null document is a deletion.
CREATE TABLE sandbar.version (
  ws     bigint NOT NULL,
  id     bigint NOT NULL,
  t      bigint NOT NULL,
  class  bigint NOT NULL,
  doc    text,
  PRIMARY KEY (ws, id, t)
);

-- Index of current values.
CREATE TABLE sandbar.slot (
  ws        bigint NOT NULL,
  property  bigint NOT NULL,
  value     bytea NOT NULL,
  id        bigint NOT NULL,
  since     bigint NOT NULL,
  PRIMARY KEY (ws, property, value, id)
);

-- Index of ended values: they held in since <= t < until. level is the bit length of that span,
-- so that a look at any moment touches one short range per level.
CREATE TABLE sandbar.past (
  ws        bigint NOT NULL,
  property  bigint NOT NULL,
  value     bytea NOT NULL,
  level     integer NOT NULL,
  since     bigint NOT NULL,
  id        bigint NOT NULL,
  until     bigint NOT NULL,
  PRIMARY KEY (ws, property, value, level, since, id)
);

-- Hashes of secret slots: in no document, version, index or export.
CREATE TABLE sandbar.secret (
  ws        bigint NOT NULL,
  id        bigint NOT NULL,
  property  bigint NOT NULL,
  hash      text NOT NULL,
  PRIMARY KEY (ws, id, property)
);

-- Receipts of requests that carried an idempotency key.
CREATE TABLE sandbar.idempotency (
  ws          bigint NOT NULL,
  principal   text COLLATE "C" NOT NULL,
  key         text COLLATE "C" NOT NULL,
  digest      text NOT NULL,
  receipt     text NOT NULL,
  instant_us  bigint NOT NULL,
  PRIMARY KEY (ws, principal, key)
);

CREATE INDEX idempotency_by_age ON sandbar.idempotency (ws, instant_us);

-- Digests of minted keys. Unique over all workspaces, because a key is looked up before anybody knows
-- whose it is; only signing in reads this table, through a function that must be told the digest.
CREATE TABLE sandbar.token (
  digest      bytea PRIMARY KEY,
  ws          bigint NOT NULL,
  id          bigint NOT NULL,
  is_revoked  integer NOT NULL
);

CREATE INDEX token_by_account ON sandbar.token (ws, id);

-- Row-level security repeats the promise of the leading key: a session sees and writes the rows of
-- the workspace that it is bound to, and none at all while it is bound to none.
ALTER TABLE sandbar.workspace ENABLE ROW LEVEL SECURITY;
ALTER TABLE sandbar.workspace FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON sandbar.workspace
  USING (ws = (SELECT NULLIF(current_setting('sandbar.ws', true), '')::bigint));

ALTER TABLE sandbar.tx ENABLE ROW LEVEL SECURITY;
ALTER TABLE sandbar.tx FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON sandbar.tx
  USING (ws = (SELECT NULLIF(current_setting('sandbar.ws', true), '')::bigint));

ALTER TABLE sandbar.entity ENABLE ROW LEVEL SECURITY;
ALTER TABLE sandbar.entity FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON sandbar.entity
  USING (ws = (SELECT NULLIF(current_setting('sandbar.ws', true), '')::bigint));

ALTER TABLE sandbar.version ENABLE ROW LEVEL SECURITY;
ALTER TABLE sandbar.version FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON sandbar.version
  USING (ws = (SELECT NULLIF(current_setting('sandbar.ws', true), '')::bigint));

ALTER TABLE sandbar.slot ENABLE ROW LEVEL SECURITY;
ALTER TABLE sandbar.slot FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON sandbar.slot
  USING (ws = (SELECT NULLIF(current_setting('sandbar.ws', true), '')::bigint));

ALTER TABLE sandbar.past ENABLE ROW LEVEL SECURITY;
ALTER TABLE sandbar.past FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON sandbar.past
  USING (ws = (SELECT NULLIF(current_setting('sandbar.ws', true), '')::bigint));

ALTER TABLE sandbar.secret ENABLE ROW LEVEL SECURITY;
ALTER TABLE sandbar.secret FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON sandbar.secret
  USING (ws = (SELECT NULLIF(current_setting('sandbar.ws', true), '')::bigint));

ALTER TABLE sandbar.idempotency ENABLE ROW LEVEL SECURITY;
ALTER TABLE sandbar.idempotency FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON sandbar.idempotency
  USING (ws = (SELECT NULLIF(current_setting('sandbar.ws', true), '')::bigint));

ALTER TABLE sandbar.token ENABLE ROW LEVEL SECURITY;
ALTER TABLE sandbar.token FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON sandbar.token
  USING (ws = (SELECT NULLIF(current_setting('sandbar.ws', true), '')::bigint));

-- Names are looked up and given before a session can be bound; this is the only way around the
-- policies, and it tells nothing but a number. The owner needs a policy too, for they are forced.
CREATE POLICY registry ON sandbar.workspace TO CURRENT_USER USING (true) WITH CHECK (true);

CREATE FUNCTION sandbar.workspace_by_name(wanted text) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
RETURN (SELECT w.ws FROM sandbar.workspace w WHERE w.name = wanted);

CREATE FUNCTION sandbar.create_workspace(wanted text, epoch bigint) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
  INSERT INTO sandbar.workspace (name, t, generation, epoch, next_id, instant_us)
  SELECT wanted, 0, 0, create_workspace.epoch, 1, 0
  WHERE NOT EXISTS (SELECT FROM sandbar.workspace w WHERE w.name = wanted)
  ON CONFLICT (name) DO NOTHING;
END;

CREATE POLICY signing_in ON sandbar.token TO CURRENT_USER USING (true);

CREATE FUNCTION sandbar.token_of(wanted bytea)
RETURNS TABLE (ws bigint, name text, id bigint, is_revoked integer)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
  SELECT t.ws, w.name, t.id, t.is_revoked
  FROM sandbar.token t JOIN sandbar.workspace w ON w.ws = t.ws WHERE t.digest = wanted;
END;

-- Full-text search: the words of every living entity, written by the transaction that writes it.

-- Every word has its workspace's number before it, so that a search reads the postings of its own
-- workspace only.
CREATE TABLE sandbar.search (
  ws     bigint NOT NULL,
  id     bigint NOT NULL,
  words  tsvector NOT NULL,
  PRIMARY KEY (ws, id)
);

-- New words wait in a list that every search reads whole, so it is short: 64 kB instead of 4 MB.
CREATE INDEX search_by_word ON sandbar.search USING gin (words)
  WITH (gin_pending_list_limit = 64);

ALTER TABLE sandbar.search ENABLE ROW LEVEL SECURITY;
ALTER TABLE sandbar.search FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON sandbar.search
  USING (ws = (SELECT NULLIF(current_setting('sandbar.ws', true), '')::bigint));

-- A policy keeps the planner from the index of words, whose operator might leak what it sees. So
-- searches run as the owner, whom this policy lets through; the function asks for the workspace
-- that the session is bound to, as the policy would. "ws + 0" keeps it from walking the whole
-- workspace along the primary key.
CREATE POLICY finding ON sandbar.search FOR SELECT TO CURRENT_USER USING (true);

CREATE FUNCTION sandbar.found(
  wanted bigint, query tsquery, classes bigint[], hidden bigint[], most bigint, passed bigint)
RETURNS TABLE (id bigint, score float8)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_bitmapscan = on
BEGIN ATOMIC
  SELECT s.id, ts_rank(s.words, query, 1)::float8 AS score FROM sandbar.search s
  WHERE s.words @@ query AND s.ws + 0 = wanted
    AND wanted = (SELECT NULLIF(current_setting('sandbar.ws', true), '')::bigint)
    AND (classes IS NULL OR EXISTS (
      SELECT FROM sandbar.entity e
      WHERE e.ws = wanted AND e.id = s.id AND e.class = ANY (classes)))
    AND (hidden = '{}' OR NOT EXISTS (
      SELECT FROM sandbar.entity e
      WHERE e.ws = wanted AND e.id = s.id AND e.class = ANY (hidden)))
  ORDER BY score DESC, s.id LIMIT most OFFSET passed;
END;

-- Whoever writes may add to the past, never take from it, except by this: all that is known of some
-- entities goes, and a mark of that stays. It reaches the workspace that the session is bound to and
-- no other, whoever the owner is.
CREATE FUNCTION sandbar.bound() RETURNS bigint
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
RETURN NULLIF(current_setting('sandbar.ws', true), '')::bigint;

CREATE FUNCTION sandbar.erase(ids bigint[], at bigint) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
  DELETE FROM sandbar.version v WHERE v.ws = (SELECT sandbar.bound()) AND v.id = ANY (ids);
  DELETE FROM sandbar.past p WHERE p.ws = (SELECT sandbar.bound()) AND p.id = ANY (ids);
  DELETE FROM sandbar.secret s WHERE s.ws = (SELECT sandbar.bound()) AND s.id = ANY (ids);
  DELETE FROM sandbar.search s WHERE s.ws = (SELECT sandbar.bound()) AND s.id = ANY (ids);
  DELETE FROM sandbar.idempotency i WHERE i.ws = (SELECT sandbar.bound()) AND EXISTS (
    SELECT FROM jsonb_array_elements(i.receipt::jsonb -> 'outcomes') o
    WHERE (o ->> 'entity-id')::bigint = ANY (ids));
  INSERT INTO sandbar.version (ws, id, t, class, doc)
  SELECT sandbar.bound(), u.id, at, 0, NULL FROM unnest(ids) u (id);
END;

-- What entities have to have done by themselves, from a moment on. Somebody holds a job until
-- until_us (0: nobody ever did), and must show the token to write in its name. over_us: since when
-- it waits because the budget of its workspace is used up. Leases are rewritten often: pages with
-- room let that happen in place.
CREATE TABLE sandbar.job (
  ws        bigint NOT NULL,
  id        bigint NOT NULL,
  due_us    bigint NOT NULL,
  owner     text,
  token     bigint,
  until_us  bigint NOT NULL,
  over_us   bigint,
  PRIMARY KEY (ws, id)
) WITH (fillfactor = 50);

CREATE INDEX job_by_due ON sandbar.job (due_us);

ALTER TABLE sandbar.job ENABLE ROW LEVEL SECURITY;
ALTER TABLE sandbar.job FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON sandbar.job
  USING (ws = (SELECT NULLIF(current_setting('sandbar.ws', true), '')::bigint));

-- Whoever does jobs does those of all workspaces. These functions tell which are due and whose, and
-- nothing of what they are; whoever would change one must hold it, or claim it as anybody may.
CREATE POLICY claiming ON sandbar.job TO CURRENT_USER USING (true) WITH CHECK (true);

CREATE FUNCTION sandbar.clock_us() RETURNS bigint
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
RETURN (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;

CREATE FUNCTION sandbar.has_due_job() RETURNS boolean
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
  WITH clock AS MATERIALIZED (SELECT sandbar.clock_us() AS now)
  SELECT EXISTS (
    SELECT FROM sandbar.job j
    WHERE j.due_us <= (SELECT now FROM clock) AND j.until_us <= (SELECT now FROM clock));
END;

-- If none of those that are due is free, they are held: as many as are being worked on, so few.
CREATE FUNCTION sandbar.next_job_us() RETURNS bigint
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
  WITH clock AS MATERIALIZED (SELECT sandbar.clock_us() AS now)
  SELECT coalesce(
    (SELECT 0 FROM sandbar.job j
     WHERE j.due_us <= (SELECT now FROM clock) AND j.until_us <= (SELECT now FROM clock) LIMIT 1),
    least(
      (SELECT min(j.until_us) FROM sandbar.job j WHERE j.due_us <= (SELECT now FROM clock)),
      (SELECT min(j.due_us) FROM sandbar.job j WHERE j.due_us > (SELECT now FROM clock))
    ) - (SELECT now FROM clock));
END;

-- As many as there are tokens. A row that somebody has locked is about to be another's, or is
-- written to in its holder's name; nobody waits for it. By its place it is found without a join,
-- for which the planner might walk all of them. Of workspaces that are spared, and of all if that is
-- null, only such as were due from a moment on: timers, and what was put off.
CREATE FUNCTION sandbar.claim_jobs(
  claimer text, tokens bigint[], lease_us bigint, spared bigint[])
RETURNS TABLE (
  ws bigint, name text, id bigint, token bigint, due_us bigint, is_taken_over boolean)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
  WITH clock AS MATERIALIZED (SELECT sandbar.clock_us() AS now),
  due AS MATERIALIZED (
    SELECT j.ctid AS place, j.owner IS NOT NULL AND j.owner <> claimer AS was_held
    FROM sandbar.job j
    WHERE j.due_us <= (SELECT now FROM clock) AND j.until_us <= (SELECT now FROM clock)
      AND (j.due_us > 0 OR coalesce(j.ws <> ALL (spared), false))
    ORDER BY j.due_us LIMIT cardinality(tokens) FOR UPDATE SKIP LOCKED
  ), numbered AS MATERIALIZED (
    SELECT d.place, d.was_held, row_number() OVER () AS number FROM due d
  ), claimed AS (
    UPDATE sandbar.job j
    SET owner = claimer, token = tokens[n.number],
        until_us = (SELECT now FROM clock) + lease_us
    FROM numbered n WHERE j.ctid = n.place
    RETURNING j.ws, j.id, j.token, j.due_us, n.was_held
  )
  SELECT c.ws, (SELECT w.name FROM sandbar.workspace w WHERE w.ws = c.ws), c.id, c.token,
         c.due_us, c.was_held
  FROM claimed c ORDER BY c.due_us, c.ws, c.id;
END;

CREATE FUNCTION sandbar.renew_job(in_ws bigint, of_id bigint, held bigint, lease_us bigint)
RETURNS boolean
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
  WITH renewed AS (
    UPDATE sandbar.job j SET until_us = sandbar.clock_us() + lease_us
    WHERE j.ws = in_ws AND j.id = of_id AND j.token = held RETURNING 1
  )
  SELECT EXISTS (SELECT FROM renewed);
END;

CREATE FUNCTION sandbar.release_job(
  in_ws bigint, of_id bigint, held bigint, delay_us bigint)
RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
  UPDATE sandbar.job j
  SET due_us = sandbar.clock_us() + delay_us, owner = NULL, token = NULL, until_us = 0,
      over_us = NULL
  WHERE j.ws = in_ws AND j.id = of_id AND j.token = held;
END;

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

ALTER TABLE sandbar.owed ENABLE ROW LEVEL SECURITY;
ALTER TABLE sandbar.owed FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON sandbar.owed
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

-- Backup and restore. Which numbers were ever given to workspaces, those of dropped ones included;
-- whoever reads their rows is bound to one after the other.
CREATE FUNCTION sandbar.workspace_numbers() RETURNS SETOF bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
  SELECT w.ws FROM sandbar.workspace w ORDER BY w.ws;
END;

-- Make workspaces under the numbers that they had elsewhere: only where there is none, nor ever was.
-- So nobody gets at the rows of others by it, and none of them can be counted back. Numbers that are
-- given later are greater.
CREATE FUNCTION sandbar.restore_workspaces(
  numbers bigint[], names text[], ts bigint[], generations bigint[], epochs bigint[],
  next_ids bigint[], instants_us bigint[])
RETURNS bigint
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
  WITH made AS (
    INSERT INTO sandbar.workspace (ws, name, t, generation, epoch, next_id, instant_us)
    OVERRIDING SYSTEM VALUE
    SELECT u.ws, u.name, u.t, u.generation, u.epoch, u.next_id, u.instant_us
    FROM unnest(numbers, names, ts, generations, epochs, next_ids, instants_us)
      u (ws, name, t, generation, epoch, next_id, instant_us)
    WHERE NOT EXISTS (SELECT FROM sandbar.workspace) AND u.ws BETWEEN 1 AND 8388607
    RETURNING ws
  ), continued AS MATERIALIZED (
    SELECT setval('sandbar.workspace_ws_seq', max(m.ws)) FROM made m HAVING max(m.ws) IS NOT NULL
  )
  SELECT (SELECT count(*) FROM made) + 0 * (SELECT count(*) FROM continued);
END;

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
