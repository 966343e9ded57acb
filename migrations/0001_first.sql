-- One text for SQLite and PostgreSQL: ids and JSON are TEXT, instants are milliseconds since 1970.

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
    UNIQUE (channel, chat, thread)
);

CREATE INDEX conversations_ready ON conversations (ready_at) WHERE ready_at IS NOT NULL;

CREATE TABLE events (
    conversation TEXT NOT NULL REFERENCES conversations (id),
    seq BIGINT NOT NULL,
    fence BIGINT NOT NULL,
    at BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (conversation, seq)
);

CREATE TABLE deliveries (
    channel TEXT NOT NULL,
    delivery TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (channel, delivery)
);

CREATE TABLE positions (
    channel TEXT PRIMARY KEY,
    position BIGINT NOT NULL
);

CREATE TABLE unparsed (
    channel TEXT NOT NULL,
    delivery TEXT NOT NULL,
    at BIGINT NOT NULL,
    raw TEXT NOT NULL,
    PRIMARY KEY (channel, delivery)
);

CREATE TABLE outbox (
    id TEXT PRIMARY KEY,
    conversation TEXT NOT NULL REFERENCES conversations (id),
    seq BIGINT NOT NULL,
    part BIGINT NOT NULL,
    body TEXT NOT NULL,
    edits TEXT,
    status TEXT NOT NULL,
    attempts BIGINT NOT NULL,
    not_before BIGINT NOT NULL,
    lease_node TEXT NOT NULL,
    lease_until BIGINT NOT NULL,
    receipt TEXT,
    problem TEXT,
    created_at BIGINT NOT NULL,
    sent_at BIGINT
);

CREATE INDEX outbox_waiting ON outbox (conversation, seq, part) WHERE status = 'waiting';
CREATE INDEX outbox_of_conversation ON outbox (conversation, seq, part);

CREATE TABLE approvals (
    id TEXT PRIMARY KEY,
    conversation TEXT NOT NULL REFERENCES conversations (id),
    call TEXT NOT NULL,
    asks TEXT NOT NULL,
    tool TEXT NOT NULL,
    arguments TEXT NOT NULL,
    digest TEXT NOT NULL,
    title TEXT NOT NULL,
    requester TEXT NOT NULL,
    question TEXT NOT NULL,
    status TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    decided_at BIGINT,
    decided_by TEXT
);

CREATE INDEX approvals_due ON approvals (expires_at) WHERE status = 'pending';
CREATE INDEX approvals_pending ON approvals (conversation) WHERE status = 'pending';

CREATE TABLE approval_tokens (
    hash TEXT PRIMARY KEY,
    approval TEXT NOT NULL REFERENCES approvals (id)
);

CREATE TABLE people (
    channel TEXT NOT NULL,
    person TEXT NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    since BIGINT NOT NULL,
    PRIMARY KEY (channel, person)
);

CREATE TABLE pairings (
    hash TEXT PRIMARY KEY,
    channel TEXT NOT NULL,
    role TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_by TEXT
);

CREATE TABLE pairing_failures (
    channel TEXT NOT NULL,
    person TEXT NOT NULL,
    failures BIGINT NOT NULL,
    last_at BIGINT NOT NULL,
    PRIMARY KEY (channel, person)
);

CREATE TABLE access_tokens (
    hash TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE TABLE leases (
    name TEXT PRIMARY KEY,
    node TEXT NOT NULL,
    until BIGINT NOT NULL,
    fence BIGINT NOT NULL
);
