-- Digests of minted keys. Unique over all workspaces, because a key is looked up before anybody knows
-- whose it is; only signing in reads this table, through a function that must be told the digest.
CREATE TABLE sandbar.token (
  digest      bytea PRIMARY KEY,
  ws          bigint NOT NULL,
  id          bigint NOT NULL,
  is_revoked  integer NOT NULL
);

CREATE INDEX token_by_account ON sandbar.token (ws, id);

ALTER TABLE sandbar.token ENABLE ROW LEVEL SECURITY;
ALTER TABLE sandbar.token FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON sandbar.token
  USING (ws = (SELECT NULLIF(current_setting('sandbar.ws', true), '')::bigint));

CREATE POLICY signing_in ON sandbar.token TO CURRENT_USER USING (true);

CREATE FUNCTION sandbar.token_of(wanted bytea)
RETURNS TABLE (ws bigint, name text, id bigint, is_revoked integer)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
  SELECT t.ws, w.name, t.id, t.is_revoked
  FROM sandbar.token t JOIN sandbar.workspace w ON w.ws = t.ws WHERE t.digest = wanted;
END;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA sandbar FROM PUBLIC;
