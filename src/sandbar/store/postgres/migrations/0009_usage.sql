-- Budgets. What each workspace uses is counted once from what is there, and by every write from now
-- on. 25 is db/ident: a process holds workflow/active? until it has ended.
ALTER TABLE sandbar.workspace
  ADD COLUMN stored_bytes            bigint NOT NULL DEFAULT 0,
  ADD COLUMN history_bytes           bigint NOT NULL DEFAULT 0,
  ADD COLUMN entities                bigint NOT NULL DEFAULT 0,
  ADD COLUMN processes               bigint NOT NULL DEFAULT 0,
  ADD COLUMN background_transitions  float8 NOT NULL DEFAULT 0,
  ADD COLUMN background_bytes        float8 NOT NULL DEFAULT 0,
  ADD COLUMN background_us           bigint NOT NULL DEFAULT 0,
  ADD COLUMN limits                  text NOT NULL DEFAULT '{}';

-- The owner is bound by the policies, too.
ALTER TABLE sandbar.entity NO FORCE ROW LEVEL SECURITY;
ALTER TABLE sandbar.version NO FORCE ROW LEVEL SECURITY;
ALTER TABLE sandbar.slot NO FORCE ROW LEVEL SECURITY;

UPDATE sandbar.workspace w SET
  (stored_bytes, entities) = (
    SELECT coalesce(sum(octet_length(e.doc)), 0), count(*) FROM sandbar.entity e WHERE e.ws = w.ws),
  history_bytes = (
    SELECT coalesce(sum(octet_length(v.doc)), 0) FROM sandbar.version v WHERE v.ws = w.ws),
  processes = (
    SELECT count(*) FROM sandbar.slot s WHERE s.ws = w.ws AND s.value = '\x01' AND s.property = (
      SELECT i.id FROM sandbar.slot i
      WHERE i.ws = w.ws AND i.property = 25 AND i.value = convert_to('workflow/active?', 'UTF8')));

ALTER TABLE sandbar.entity FORCE ROW LEVEL SECURITY;
ALTER TABLE sandbar.version FORCE ROW LEVEL SECURITY;
ALTER TABLE sandbar.slot FORCE ROW LEVEL SECURITY;

-- Since when a job waits because the budget of its workspace is used up.
ALTER TABLE sandbar.job ADD COLUMN over_us bigint;

CREATE OR REPLACE FUNCTION sandbar.release_job(
  in_ws bigint, of_id bigint, held bigint, delay_us bigint)
RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
  UPDATE sandbar.job j
  SET due_us = sandbar.clock_us() + delay_us, owner = NULL, token = NULL, until_us = 0,
      over_us = NULL
  WHERE j.ws = in_ws AND j.id = of_id AND j.token = held;
END;
