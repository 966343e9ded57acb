-- The event of the last failed turn of a conversation, for the list of failures. Nodes of earlier
-- releases do not set it.

ALTER TABLE conversations ADD COLUMN failed_seq BIGINT;

CREATE INDEX conversations_failed ON conversations (id) WHERE failed_seq IS NOT NULL;
