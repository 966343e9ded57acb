-- Guard rules that are added while the program runs. Every change raises the version.

CREATE TABLE guard_rules (
    name TEXT PRIMARY KEY,
    place BIGINT NOT NULL,
    body TEXT NOT NULL,
    changed_by TEXT NOT NULL,
    changed_at BIGINT NOT NULL
);

CREATE TABLE guard_version (
    one BIGINT PRIMARY KEY,
    version BIGINT NOT NULL
);

INSERT INTO guard_version (one, version) VALUES (1, 0);
