-- How many turns of a conversation in a row have failed for a reason of ours.
ALTER TABLE conversations ADD COLUMN failures BIGINT NOT NULL DEFAULT 0;
