-- Who signs in through the operator's issuer: what they are called, and what their role hangs on.

ALTER TABLE access_tokens ADD COLUMN shown TEXT;
-- As a list in JSON; NULL for whoever has come by a link.
ALTER TABLE access_tokens ADD COLUMN claims TEXT;
