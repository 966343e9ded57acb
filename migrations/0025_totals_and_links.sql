-- What a day has cost so far, in running totals: `scope` is person, conversation or all, `owner` whose
-- it is; that of all is split into parts, so that those who add to it do not wait for each other.
CREATE TABLE spent (
    day TEXT NOT NULL,
    scope TEXT NOT NULL,
    owner TEXT NOT NULL,
    messages BIGINT NOT NULL,
    tokens BIGINT NOT NULL,
    cost_micros BIGINT NOT NULL,
    tool_ms BIGINT NOT NULL,
    PRIMARY KEY (day, scope, owner)
);

-- The current day goes on with what was used before; nodes may differ in which day that is.
INSERT INTO spent (day, scope, owner, messages, tokens, cost_micros, tool_ms)
SELECT day, 'person', person, SUM(messages), SUM(input_tokens + output_tokens), SUM(cost_micros),
       SUM(CASE WHEN kind = 'tool' THEN took_ms ELSE 0 END)
FROM usage
WHERE day IN (SELECT DISTINCT day FROM usage ORDER BY day DESC LIMIT 2)
GROUP BY day, person;

INSERT INTO spent (day, scope, owner, messages, tokens, cost_micros, tool_ms)
SELECT day, 'conversation', conversation, SUM(messages), SUM(input_tokens + output_tokens),
       SUM(cost_micros), SUM(CASE WHEN kind = 'tool' THEN took_ms ELSE 0 END)
FROM usage
WHERE day IN (SELECT DISTINCT day FROM usage ORDER BY day DESC LIMIT 2)
GROUP BY day, conversation;

INSERT INTO spent (day, scope, owner, messages, tokens, cost_micros, tool_ms)
SELECT day, 'all', '0', SUM(messages), SUM(input_tokens + output_tokens), SUM(cost_micros),
       SUM(CASE WHEN kind = 'tool' THEN took_ms ELSE 0 END)
FROM usage
WHERE day IN (SELECT DISTINCT day FROM usage ORDER BY day DESC LIMIT 2)
GROUP BY day;

-- What requests to models that are under way are expected to add to a person's day: other
-- conversations of that person count it until the reply is entered, or until it expires.
CREATE TABLE reservations (
    person TEXT NOT NULL,
    conversation TEXT NOT NULL,
    messages BIGINT NOT NULL,
    tokens BIGINT NOT NULL,
    cost_micros BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (person, conversation)
);

CREATE INDEX reservations_expiry ON reservations (expires_at);

-- Accounts that belong to one person. An account without a row is a person of its own.
CREATE TABLE identities (
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    name TEXT NOT NULL,
    person TEXT NOT NULL,
    linked_at BIGINT NOT NULL,
    PRIMARY KEY (channel, account)
);

CREATE INDEX identities_of_person ON identities (person);

-- Codes that link the account that enters them to the one that asked for them.
CREATE TABLE link_codes (
    hash TEXT PRIMARY KEY,
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    name TEXT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE INDEX link_codes_expiry ON link_codes (expires_at);
