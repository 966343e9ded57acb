-- The first event of the turn whose answer grows in the message: only that turn's answer takes it
-- over. 0: kept by a node of the previous release, for no turn that can be told.

ALTER TABLE drafts ADD COLUMN turn BIGINT NOT NULL DEFAULT 0;

-- The same of a row that is a part of an answer: what of it waits when somebody stops is not sent.
ALTER TABLE outbox ADD COLUMN turn BIGINT;
