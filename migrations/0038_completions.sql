-- Requests of OpenAI clients, so that a later request continues the same conversation and a repeated
-- one does not run twice. `request` is the digest of the request, `history` that of the dialogue up to
-- the answer (empty until there is one), `previous` and `next` are the requests of the same dialogue.
-- The answer consists of what was shown after the event `after_seq`, up to `ended_seq`.

CREATE TABLE completions (
    id TEXT PRIMARY KEY,
    conversation TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    person TEXT NOT NULL,
    request TEXT NOT NULL,
    history TEXT NOT NULL,
    previous TEXT NOT NULL,
    next TEXT NOT NULL,
    after_seq BIGINT NOT NULL,
    ended_seq BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE UNIQUE INDEX completions_of_request ON completions (person, request);
CREATE INDEX completions_to_continue ON completions (person, history) WHERE next = '';
CREATE INDEX completions_of_conversation ON completions (conversation);
