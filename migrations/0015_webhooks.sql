-- What other programs are told, and what became of it; whether channels are listened to.

CREATE TABLE subscriptions (
    name TEXT PRIMARY KEY,
    -- Between blanks.
    topics TEXT NOT NULL
);

CREATE TABLE notices (
    id TEXT PRIMARY KEY,
    subscription TEXT NOT NULL,
    topic TEXT NOT NULL,
    body TEXT NOT NULL,
    -- waiting, delivered, dead, dropped
    status TEXT NOT NULL,
    attempts BIGINT NOT NULL,
    not_before BIGINT NOT NULL,
    lease_until BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE INDEX notices_waiting ON notices (not_before) WHERE status = 'waiting';
CREATE INDEX notices_dead ON notices (id) WHERE status = 'dead';
CREATE INDEX notices_created ON notices (created_at);

-- The delivery log.
CREATE TABLE notice_tries (
    notice TEXT NOT NULL REFERENCES notices (id),
    n BIGINT NOT NULL,
    at BIGINT NOT NULL,
    -- What the other side answered, if it did.
    status BIGINT,
    problem TEXT NOT NULL,
    PRIMARY KEY (notice, n)
);

CREATE TABLE channel_states (
    channel TEXT PRIMARY KEY,
    is_up BOOLEAN NOT NULL,
    since BIGINT NOT NULL
);
