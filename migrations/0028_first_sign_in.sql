-- When somebody first signed in: since then no start prints a sign-in link where it may end up in a
-- log. One row.

CREATE TABLE first_sign_in (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    at BIGINT NOT NULL
);

INSERT INTO first_sign_in (id, at)
SELECT 1, MIN(created_at)
FROM access_tokens
WHERE kind = 'session'
HAVING COUNT(*) > 0;
