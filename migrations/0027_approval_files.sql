-- The file behind "Show everything", as JSON: its name, media type, size and digest; and when it
-- was sent. When a lasting grant was last proposed for the question.

ALTER TABLE approvals ADD COLUMN file TEXT;
ALTER TABLE approvals ADD COLUMN file_sent_at BIGINT;
ALTER TABLE approvals ADD COLUMN proposed_at BIGINT;
