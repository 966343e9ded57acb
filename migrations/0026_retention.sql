-- What each rule of the retention looks for.

CREATE INDEX deliveries_at ON deliveries (at);
CREATE INDEX unparsed_at ON unparsed (at);
CREATE INDEX outbox_ended ON outbox (created_at) WHERE status <> 'waiting';
CREATE INDEX outbox_edits ON outbox (edits) WHERE edits IS NOT NULL;
CREATE INDEX approvals_decided ON approvals (decided_at) WHERE status <> 'pending';
CREATE INDEX approvals_of_question ON approvals (question);
CREATE INDEX grants_expiry ON grants (expires_at);
CREATE INDEX schedules_ended ON schedules (changed_at) WHERE status IN ('done', 'deleted');
CREATE INDEX access_tokens_expiry ON access_tokens (expires_at);
CREATE INDEX pairings_expiry ON pairings (expires_at);
CREATE INDEX pairing_failures_at ON pairing_failures (last_at);
CREATE INDEX rates_at ON rates (last_at);
CREATE INDEX floods_at ON floods (even_at);
CREATE INDEX conversations_begun ON conversations (created_at, id);
CREATE INDEX conversations_of_agents ON conversations (created_at, id) WHERE root IS NOT NULL;

CREATE INDEX people_owners ON people (person) WHERE role = 'owner';
