-- The schema of a new PostgreSQL database. Old ones get here by migrations/; a test compares.
-- ws leads every key: a workspace is a database of its own.

CREATE TABLE sandbar.migration (
  number  integer PRIMARY KEY,
  name    text NOT NULL
);

-- Counters of each workspace. epoch is drawn anew by a restore, so that a repeated t is noticed.
-- The row is rewritten by every batch: half-empty pages let that happen in place.
CREATE TABLE sandbar.workspace (
  ws          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name        text COLLATE "C" NOT NULL UNIQUE,
  t           bigint NOT NULL,
  generation  bigint NOT NULL,
  epoch       bigint NOT NULL,
  next_id     bigint NOT NULL,
  instant_us  bigint NOT NULL
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

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA sandbar FROM PUBLIC;
