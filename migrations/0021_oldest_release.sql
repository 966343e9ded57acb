-- The oldest release that can still work on these tables, by the number of its last migration. A
-- migration that takes away what older releases need raises it; they refuse to start then.

CREATE TABLE oldest_release (
    migration BIGINT NOT NULL
);

INSERT INTO oldest_release (migration) VALUES (17);
