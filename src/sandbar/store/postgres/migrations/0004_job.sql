-- What entities have to have done by themselves, from a moment on. Somebody holds a job until
-- until_us (0: nobody ever did), and must show the token to write in its name. Leases are rewritten
-- often: pages with room let that happen in place.
CREATE TABLE sandbar.job (
  ws        bigint NOT NULL,
  id        bigint NOT NULL,
  due_us    bigint NOT NULL,
  owner     text,
  token     bigint,
  until_us  bigint NOT NULL,
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

CREATE FUNCTION sandbar.release_job(in_ws bigint, of_id bigint, held bigint, delay_us bigint)
RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
  UPDATE sandbar.job j
  SET due_us = sandbar.clock_us() + delay_us, owner = NULL, token = NULL, until_us = 0
  WHERE j.ws = in_ws AND j.id = of_id AND j.token = held;
END;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA sandbar FROM PUBLIC;
