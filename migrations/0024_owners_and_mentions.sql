-- What is looked up by person or by file instead of being searched for in all text.

-- The person of a private chat. Empty: no private chat; NULL: written by an earlier release, and not
-- determined yet.
ALTER TABLE conversations ADD COLUMN owner TEXT;
-- The last message that a client may have split.
ALTER TABLE conversations ADD COLUMN split_seq BIGINT NOT NULL DEFAULT 0;

CREATE INDEX conversations_of_owner ON conversations (channel, owner) WHERE owner <> '';
CREATE INDEX conversations_private ON conversations (channel, created_at) WHERE owner <> '';
CREATE INDEX conversations_unowned ON conversations (id) WHERE owner IS NULL;
CREATE INDEX conversations_of_person ON conversations (channel, person) WHERE person <> '';

-- The files that conversations name, by digest.
CREATE TABLE mentions (
    digest TEXT NOT NULL,
    conversation TEXT NOT NULL,
    PRIMARY KEY (digest, conversation)
);

CREATE INDEX mentions_of_conversation ON mentions (conversation);

-- The people who have spoken or decided in conversations that are not private.
CREATE TABLE participants (
    channel TEXT NOT NULL,
    person TEXT NOT NULL,
    conversation TEXT NOT NULL,
    PRIMARY KEY (channel, person, conversation)
);

CREATE INDEX participants_of_conversation ON participants (conversation);

-- How far a table has been filled from rows that were there before it. `position` is JSON.
CREATE TABLE backfills (
    name TEXT PRIMARY KEY,
    begins_at BIGINT NOT NULL,
    passes BIGINT NOT NULL,
    position TEXT NOT NULL
);

-- People who are being erased; a row is deleted when nothing is left to be done.
CREATE TABLE erasures (
    id TEXT PRIMARY KEY,
    channel TEXT NOT NULL,
    person TEXT NOT NULL,
    fact TEXT NOT NULL,
    began_at BIGINT NOT NULL,
    conversations BIGINT NOT NULL,
    events BIGINT NOT NULL,
    files BIGINT NOT NULL
);

-- The conversations that are left to be erased (`own`), or to be rewritten up to an event (`shared`).
CREATE TABLE erasure_steps (
    erasure TEXT NOT NULL REFERENCES erasures (id),
    conversation TEXT NOT NULL,
    kind TEXT NOT NULL,
    upto BIGINT NOT NULL,
    PRIMARY KEY (erasure, conversation)
);

-- The files that are removed in the end if no other conversation names them.
CREATE TABLE erasure_files (
    erasure TEXT NOT NULL REFERENCES erasures (id),
    digest TEXT NOT NULL,
    PRIMARY KEY (erasure, digest)
);

CREATE INDEX approvals_deadline ON approvals (expires_at, id) WHERE status = 'pending';
CREATE INDEX approval_tokens_of_approval ON approval_tokens (approval);
CREATE INDEX votes_of_person ON votes (channel, person);
CREATE INDEX grants_of_anybody ON grants (scope, owner);
CREATE INDEX usage_of_conversation ON usage (conversation);
CREATE INDEX usage_of_person ON usage (person);
CREATE INDEX access_tokens_of_name ON access_tokens (name);
CREATE INDEX memories_of_shelf ON memories (shelf);
CREATE INDEX people_with_role ON people (channel, role, since);
CREATE INDEX parked_until ON parked (until);
