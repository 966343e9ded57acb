-- What all nodes sign with. `name` says what is signed.
CREATE TABLE signing_keys (
    name TEXT PRIMARY KEY,
    secret TEXT NOT NULL
);
