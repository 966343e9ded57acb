-- The calls of the last hour, by person and tool: instants in milliseconds, joined by commas.
CREATE TABLE rates (
    person TEXT NOT NULL,
    tool TEXT NOT NULL,
    calls TEXT NOT NULL,
    last_at BIGINT NOT NULL,
    PRIMARY KEY (person, tool)
);

-- When a person who writes too fast would be even with the limit.
CREATE TABLE floods (
    person TEXT PRIMARY KEY,
    even_at BIGINT NOT NULL,
    refused BIGINT NOT NULL
);

-- What was used, by UTC day; `kind` is model or tool, `name` which.
CREATE TABLE usage (
    day TEXT NOT NULL,
    conversation TEXT NOT NULL,
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
    PRIMARY KEY (day, conversation, person, kind, name)
);

-- Facts, each bound to the one before it in its chain: a conversation, or what has none.
CREATE TABLE audit (
    chain TEXT NOT NULL,
    n BIGINT NOT NULL,
    at BIGINT NOT NULL,
    kind TEXT NOT NULL,
    person TEXT NOT NULL,
    tool TEXT NOT NULL,
    body TEXT NOT NULL,
    hash TEXT NOT NULL,
    PRIMARY KEY (chain, n)
);

CREATE INDEX audit_at ON audit (at);

-- Where each chain ends, and up to where the chain of seals vouches for it.
CREATE TABLE audit_heads (
    chain TEXT PRIMARY KEY,
    n BIGINT NOT NULL,
    hash TEXT NOT NULL,
    sealed BIGINT NOT NULL
);

CREATE INDEX audit_unsealed ON audit_heads (chain) WHERE sealed < n;
