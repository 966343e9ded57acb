-- What is to happen later. The id is that of the call that made it.

CREATE TABLE schedules (
    id TEXT PRIMARY KEY,
    conversation TEXT NOT NULL REFERENCES conversations (id),
    does TEXT NOT NULL,
    text TEXT NOT NULL,
    rule TEXT NOT NULL,
    zone TEXT NOT NULL,
    by_whom TEXT NOT NULL,
    taint TEXT NOT NULL,
    status TEXT NOT NULL,
    due_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    changed_at BIGINT NOT NULL
);

CREATE INDEX schedules_due ON schedules (due_at) WHERE status = 'waiting';
CREATE INDEX schedules_of_conversation ON schedules (conversation);
