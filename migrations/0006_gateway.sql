-- Who is spoken to how, and what waits: messages that may belong together, chats that are put off,
-- drafts that an answer takes over.

ALTER TABLE conversations ADD COLUMN language TEXT NOT NULL DEFAULT '';
ALTER TABLE conversations ADD COLUMN not_before BIGINT NOT NULL DEFAULT 0;

CREATE TABLE drafts (
    conversation TEXT PRIMARY KEY REFERENCES conversations (id),
    receipt TEXT NOT NULL
);

CREATE TABLE parked (
    channel TEXT NOT NULL,
    chat TEXT NOT NULL,
    until BIGINT NOT NULL,
    PRIMARY KEY (channel, chat)
);
