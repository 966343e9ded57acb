-- The bytes that a person has uploaded in the web chat on a day.
ALTER TABLE spent ADD COLUMN upload_bytes BIGINT NOT NULL DEFAULT 0;
