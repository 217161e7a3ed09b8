-- Digests of minted keys. Unique over all workspaces, because a key is looked up before anybody knows
-- whose it is; only signing in reads this table.
CREATE TABLE token (
  digest      BLOB PRIMARY KEY,
  ws          INTEGER NOT NULL,
  id          INTEGER NOT NULL,
  is_revoked  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX token_by_account ON token (ws, id);
