-- Sub-agents: conversations whose place is their parent.

-- Who answers in it, if not the agent of its channel.
ALTER TABLE conversations ADD COLUMN agent TEXT;
-- The conversation of people that it works for, and how far below that it is.
ALTER TABLE conversations ADD COLUMN root TEXT;
ALTER TABLE conversations ADD COLUMN depth BIGINT NOT NULL DEFAULT 0;

CREATE INDEX conversations_of_root ON conversations (root) WHERE root IS NOT NULL;

-- What a sub-agent was given to do: `place` is that among the tasks of one call.
CREATE TABLE tasks (
    conversation TEXT PRIMARY KEY REFERENCES conversations (id),
    parent TEXT NOT NULL REFERENCES conversations (id),
    call TEXT NOT NULL,
    place BIGINT NOT NULL,
    status TEXT NOT NULL,
    answer TEXT
);

CREATE INDEX tasks_of_call ON tasks (parent, call);
