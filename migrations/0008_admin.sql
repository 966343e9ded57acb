-- The operators' side: tokens of the API, answers kept for a second try, tools as operators have
-- set them.

CREATE TABLE api_tokens (
    id TEXT PRIMARY KEY,
    hash TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    used_at BIGINT,
    revoked_at BIGINT,
    revoked_by TEXT
);

-- In the audit a token goes by its name.
CREATE UNIQUE INDEX api_tokens_name ON api_tokens (name) WHERE revoked_at IS NULL;

-- What a request with an Idempotency-Key was answered; without a status it is under way.
CREATE TABLE answers (
    caller TEXT NOT NULL,
    name TEXT NOT NULL,
    request TEXT NOT NULL,
    status BIGINT,
    media_type TEXT NOT NULL,
    body TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (caller, name)
);

CREATE INDEX answers_at ON answers (at);

-- `kind` is tool or mcp. An empty tier is the one that the tool or the configuration says. Every
-- change raises the version.
CREATE TABLE tool_settings (
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    enabled BOOLEAN NOT NULL,
    tier TEXT NOT NULL,
    changed_by TEXT NOT NULL,
    changed_at BIGINT NOT NULL,
    PRIMARY KEY (kind, name)
);

CREATE TABLE tool_version (
    one BIGINT PRIMARY KEY,
    version BIGINT NOT NULL
);

INSERT INTO tool_version (one, version) VALUES (1, 0);

CREATE INDEX outbox_given_up ON outbox (id) WHERE status IN ('refused', 'gone');
