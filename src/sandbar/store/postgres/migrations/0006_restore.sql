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

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA sandbar FROM PUBLIC;
