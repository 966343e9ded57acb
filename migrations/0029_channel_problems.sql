-- The state of a channel in detail: the node that reported it, the number of requested
-- reconnections that it takes into account, and the last problem.

ALTER TABLE channel_states ADD COLUMN node TEXT;
ALTER TABLE channel_states ADD COLUMN reconnects BIGINT NOT NULL DEFAULT 0;
ALTER TABLE channel_states ADD COLUMN problem TEXT;
ALTER TABLE channel_states ADD COLUMN problem_at BIGINT;
