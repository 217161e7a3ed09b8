-- The search index is merged bit by bit. While this number was that of automerge, it was always merged all
-- at once instead: with a million entities, one write in many thousands took a second.
INSERT INTO search (search, rank) VALUES ('crisismerge', 64);
