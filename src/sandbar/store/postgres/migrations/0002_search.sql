-- Full-text search: the words of every living entity, written by the transaction that writes it.

-- Every word has its workspace's number before it, so that a search reads the postings of its own
-- workspace only.
CREATE TABLE sandbar.search (
  ws     bigint NOT NULL,
  id     bigint NOT NULL,
  words  tsvector NOT NULL,
  PRIMARY KEY (ws, id)
);

CREATE INDEX search_by_word ON sandbar.search USING gin (words);

-- Workspaces with entities from before there was a search, and up to which id they are indexed.
CREATE TABLE sandbar.unsearched (
  ws     bigint PRIMARY KEY,
  after  bigint NOT NULL
);

INSERT INTO sandbar.unsearched (ws, after) SELECT ws, 0 FROM sandbar.workspace;

ALTER TABLE sandbar.search ENABLE ROW LEVEL SECURITY;
ALTER TABLE sandbar.search FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON sandbar.search
  USING (ws = (SELECT NULLIF(current_setting('sandbar.ws', true), '')::bigint));

ALTER TABLE sandbar.unsearched ENABLE ROW LEVEL SECURITY;
ALTER TABLE sandbar.unsearched FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON sandbar.unsearched
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

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA sandbar FROM PUBLIC;
