-- What all nodes sign with. `name` says what is signed.
CREATE TABLE signing_keys (
    name TEXT PRIMARY KEY,
    secret TEXT NOT NULL
);

-- The account says which agent it was, too; of what was used before, nobody knows.
CREATE TABLE usage_by_agent (
    day TEXT NOT NULL,
    conversation TEXT NOT NULL,
    agent TEXT NOT NULL,
    person TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    times BIGINT NOT NULL,
    messages BIGINT NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cached_tokens BIGINT NOT NULL,
    cost_micros BIGINT NOT NULL,
    took_ms BIGINT NOT NULL,
    PRIMARY KEY (day, conversation, agent, person, kind, name)
);

INSERT INTO usage_by_agent
SELECT day, conversation, '', person, kind, name, times, messages, input_tokens, output_tokens,
       cached_tokens, cost_micros, took_ms
FROM usage;

DROP TABLE usage;

ALTER TABLE usage_by_agent RENAME TO usage;

-- How often somebody has wanted a channel to be connected anew: whoever listens there sees it grow.
CREATE TABLE reconnects (
    channel TEXT PRIMARY KEY,
    times BIGINT NOT NULL
);
