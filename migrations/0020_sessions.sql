-- Snapshots of folded sessions: only a cache. A row whose version is not the program's is ignored;
-- version 0 marks a journal that was rewritten after what had been folded.

CREATE TABLE sessions (
    conversation TEXT PRIMARY KEY REFERENCES conversations (id) ON DELETE CASCADE,
    seq BIGINT NOT NULL,
    version BIGINT NOT NULL,
    body TEXT NOT NULL
);
