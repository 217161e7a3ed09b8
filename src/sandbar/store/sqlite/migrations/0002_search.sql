-- Full-text search: the words of every living entity, written by the transaction that writes it.

-- The row is the entity's place. Every word has its workspace's number before it, so that a search
-- reads the postings of its own workspace only. The words come ready-made: this tokenizer parts
-- them at blanks and changes nothing. The text itself is not kept a second time.
CREATE VIRTUAL TABLE search USING fts5(
  words, content = '', contentless_delete = 1, tokenize = "ascii tokenchars '_'"
);

-- Fewer, larger merges: a third of what indexing costs, for a search that looks in more places.
INSERT INTO search (search, rank) VALUES ('automerge', 16);

-- Workspaces with entities from before there was a search, and up to which id they are indexed.
CREATE TABLE unsearched (
  ws     INTEGER PRIMARY KEY,
  after  INTEGER NOT NULL
) STRICT;

INSERT INTO unsearched (ws, after) SELECT ws, 0 FROM workspace;
