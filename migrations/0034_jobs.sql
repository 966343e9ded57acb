-- Background jobs: sub-agents that no call waits for. The id is that of the call that created the
-- job; `child` is the sub-agent's conversation, and `conversation` the one that the job reports to.

CREATE TABLE jobs (
    id TEXT PRIMARY KEY,
    conversation TEXT NOT NULL REFERENCES conversations (id),
    child TEXT NOT NULL,
    person TEXT NOT NULL,
    by_whom TEXT NOT NULL,
    agent TEXT NOT NULL,
    task TEXT NOT NULL,
    status TEXT NOT NULL,
    answer TEXT,
    created_at BIGINT NOT NULL,
    changed_at BIGINT NOT NULL
);

CREATE INDEX jobs_of_conversation ON jobs (conversation, status);
CREATE UNIQUE INDEX jobs_of_child ON jobs (child);
CREATE INDEX jobs_of_person ON jobs (person) WHERE status = 'running';
CREATE INDEX jobs_to_report ON jobs (changed_at) WHERE status = 'ended';
CREATE INDEX jobs_over ON jobs (changed_at) WHERE status IN ('reported', 'cancelled');
