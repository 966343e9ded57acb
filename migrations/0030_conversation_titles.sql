-- The name of a conversation of the web chat; empty for one without a name. Nodes of earlier
-- releases leave it empty.

ALTER TABLE conversations ADD COLUMN title TEXT NOT NULL DEFAULT '';
