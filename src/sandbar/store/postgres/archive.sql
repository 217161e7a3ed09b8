-- Backups. Every statement sees the rows of the workspace that its transaction is bound to.

-- name: bind
SELECT set_config('sandbar.ws', %s, true)

-- name: numbers
SELECT ws FROM workspace_numbers() AS n (ws)

-- name: workspace
SELECT ws, CASE WHEN t < 0 THEN '' ELSE name END, t, generation, next_id, instant_us, limits
FROM workspace WHERE ws = %s

-- name: read_rows
SELECT {columns} FROM {table} WHERE ws = {ws} ORDER BY {key}

-- A copy takes no bindings.

-- name: copy_out
COPY ({query}) TO STDOUT (FORMAT binary)

-- name: count_rows
SELECT count(*) FROM {table} WHERE ws = %s

-- While this is held nobody makes a workspace.

-- name: lock_workspaces
LOCK TABLE workspace IN SHARE ROW EXCLUSIVE MODE

-- name: put_workspaces
SELECT restore_workspaces(%s, %s, %s, %s, %s, %s, %s)

-- 25 is db/ident: a process holds workflow/active? until it has ended.

-- name: count_usage
UPDATE workspace SET limits = %(limits)s,
  (stored_bytes, entities) = (
    SELECT coalesce(sum(octet_length(doc)), 0), count(*) FROM entity WHERE ws = %(ws)s),
  history_bytes = (
    SELECT coalesce(sum(octet_length(doc)), 0) FROM version WHERE ws = %(ws)s),
  processes = (SELECT count(*) FROM slot
    WHERE ws = %(ws)s AND value = '\x01' AND property = (
      SELECT id FROM slot
      WHERE ws = %(ws)s AND property = 25 AND value = convert_to('workflow/active?', 'UTF8')))
WHERE ws = %(ws)s

-- name: put_unsearched
INSERT INTO owed (ws, duty, mark, since_us, tries, due_us) VALUES (%s, 'index', 0, clock_us(), 0, 0)

-- name: put_rows
INSERT INTO {table} (ws, {columns}) SELECT %s, {values} FROM unnest({arrays}) u ({columns})

-- name: put_jobs
INSERT INTO job (ws, id, due_us, owner, token, until_us)
SELECT %s, u.id, u.due_us, NULL, NULL, 0 FROM unnest(%s, %s) u (id, due_us)
