-- Who may decide a question, what it offers and where it is shown; votes; lasting leave; the halt.

ALTER TABLE approvals ADD COLUMN approvers TEXT NOT NULL DEFAULT '"requester"';
-- The keys of its buttons.
ALTER TABLE approvals ADD COLUMN offers TEXT NOT NULL DEFAULT 'acdrse';
-- What a lasting leave would cover.
ALTER TABLE approvals ADD COLUMN proposal TEXT;
-- The conversation that shows it, which need not be the one that asked.
ALTER TABLE approvals ADD COLUMN shown_in TEXT NOT NULL DEFAULT '';
UPDATE approvals SET shown_in = conversation;

CREATE INDEX approvals_shown ON approvals (shown_in) WHERE status = 'pending';
CREATE INDEX approvals_asked ON approvals (conversation, created_at);

-- The question of which a row is a part.
ALTER TABLE outbox ADD COLUMN approval TEXT;

CREATE INDEX outbox_of_approval ON outbox (approval) WHERE approval IS NOT NULL;

-- Who has said yes where several have to.
CREATE TABLE votes (
    approval TEXT NOT NULL REFERENCES approvals (id),
    channel TEXT NOT NULL,
    person TEXT NOT NULL,
    name TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (approval, channel, person)
);

-- `owner` is the person, the conversation or nobody, by `scope`.
CREATE TABLE grants (
    id TEXT PRIMARY KEY,
    tool TEXT NOT NULL,
    covers TEXT NOT NULL,
    scope TEXT NOT NULL,
    owner TEXT NOT NULL,
    approval TEXT NOT NULL,
    given_by TEXT NOT NULL,
    given_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    uses_left BIGINT,
    revoked_at BIGINT,
    revoked_by TEXT
);

CREATE INDEX grants_of_owner ON grants (scope, owner) WHERE revoked_at IS NULL;
CREATE INDEX grants_of_approval ON grants (approval);

-- A row as long as no tool may run.
CREATE TABLE halts (
    name TEXT PRIMARY KEY,
    by_whom TEXT NOT NULL,
    since BIGINT NOT NULL
);
