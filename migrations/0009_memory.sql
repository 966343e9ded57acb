-- What agents remember: `shelf` says for whom, empty for everybody who talks to the agent. `call` is
-- the one that wrote last, `source` who and, where other people's words were involved, whose.

CREATE TABLE memories (
    id BIGINT PRIMARY KEY,
    agent TEXT NOT NULL,
    shelf TEXT NOT NULL,
    path TEXT NOT NULL,
    content TEXT NOT NULL,
    by_whom TEXT NOT NULL,
    taint TEXT NOT NULL,
    call TEXT NOT NULL,
    changed_at BIGINT NOT NULL,
    UNIQUE (agent, shelf, path)
);
