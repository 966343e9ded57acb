-- What a job was created from: the untrusted content that had been read, as a JSON list, and the
-- number of jobs in succession that led to it, itself included. Nodes of the previous release leave
-- both at their defaults.

ALTER TABLE jobs ADD COLUMN taint TEXT NOT NULL DEFAULT '[]';
ALTER TABLE jobs ADD COLUMN succession BIGINT NOT NULL DEFAULT 1;
