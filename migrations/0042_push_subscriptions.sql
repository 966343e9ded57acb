-- Browsers that are notified of approval requests. A subscription ends with the session in which it
-- was made, however that ends: by signing out, by expiry, by an operator, or by an erasure.

CREATE TABLE push_subscriptions (
    -- The hash of the endpoint.
    id TEXT PRIMARY KEY,
    session TEXT NOT NULL REFERENCES access_tokens (hash) ON DELETE CASCADE,
    person TEXT NOT NULL,
    -- The address of the browser's push service, and its keys in base64url.
    endpoint TEXT NOT NULL,
    p256dh TEXT NOT NULL,
    auth TEXT NOT NULL,
    language TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE INDEX push_subscriptions_of_person ON push_subscriptions (person, created_at);
CREATE INDEX push_subscriptions_of_session ON push_subscriptions (session);
