-- What the owner of a database runs, once and after every upgrade.

-- name: lock
SELECT pg_advisory_xact_lock(hashtextextended('sandbar.install', 0))

-- name: is_installed
SELECT to_regclass('sandbar.migration') IS NOT NULL

-- name: create_schema
CREATE SCHEMA IF NOT EXISTS sandbar

-- name: last_migration
SELECT max(number) FROM sandbar.migration

-- name: note_migration
INSERT INTO sandbar.migration (number, name) VALUES (%s, %s)

-- name: role
SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = %s

-- name: create_role
CREATE ROLE {role} LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOREPLICATION

-- name: set_password
ALTER ROLE {role} LOGIN PASSWORD {password}

-- name: grant_all
GRANT USAGE ON SCHEMA sandbar TO {role};
GRANT SELECT ON sandbar.migration TO {role};
GRANT SELECT, UPDATE ON sandbar.workspace TO {role};
GRANT SELECT, INSERT ON sandbar.tx, sandbar.past, sandbar.audit, sandbar.seal TO {role};
GRANT SELECT, INSERT, UPDATE ON sandbar.version, sandbar.token, sandbar.bucket,
  sandbar.key_use TO {role};
GRANT SELECT, INSERT, DELETE ON sandbar.slot TO {role};
GRANT SELECT, INSERT, UPDATE, DELETE ON sandbar.owed TO {role};
GRANT SELECT, INSERT, UPDATE, DELETE ON sandbar.entity, sandbar.secret, sandbar.idempotency,
  sandbar.search, sandbar.job TO {role};
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA sandbar TO {role}

-- name: privilege
SELECT CASE
  WHEN rolsuper THEN 'a superuser'
  WHEN rolbypassrls THEN 'exempt from row-level security'
  WHEN EXISTS (SELECT FROM pg_class c WHERE c.relnamespace = 'sandbar'::regnamespace
               AND pg_has_role(current_user, c.relowner, 'MEMBER')) THEN 'the owner of the tables'
END
FROM pg_roles WHERE rolname = current_user

-- name: unprotected
SELECT string_agg(c.relname, ', ') FROM pg_class c
WHERE c.relnamespace = 'sandbar'::regnamespace AND c.relkind = 'r' AND c.relname <> 'migration'
  AND NOT (c.relrowsecurity AND c.relforcerowsecurity)
