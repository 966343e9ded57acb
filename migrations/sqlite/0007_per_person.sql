-- In groups, each person may have a conversation of their own. SQLite changes no key of a table: it
-- is written anew, and what refers to it is checked when all of it is there again.

PRAGMA defer_foreign_keys = ON;

CREATE TABLE conversations_before AS SELECT * FROM conversations;

DROP TABLE conversations;

CREATE TABLE conversations (
    id TEXT PRIMARY KEY,
    channel TEXT NOT NULL,
    chat TEXT NOT NULL,
    thread TEXT NOT NULL,
    place TEXT NOT NULL,
    last_seq BIGINT NOT NULL,
    ready_at BIGINT,
    lease_node TEXT NOT NULL,
    lease_until BIGINT NOT NULL,
    fence BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    language TEXT NOT NULL DEFAULT '',
    not_before BIGINT NOT NULL DEFAULT 0,
    person TEXT NOT NULL DEFAULT '',
    UNIQUE (channel, chat, thread, person)
);

INSERT INTO conversations SELECT *, '' FROM conversations_before;

DROP TABLE conversations_before;

CREATE INDEX conversations_ready ON conversations (ready_at) WHERE ready_at IS NOT NULL;
