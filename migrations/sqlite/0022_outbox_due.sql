-- Which rows of the outbox can be sent now, at a cost that does not depend on how many wait.
--
-- `due_at` is the time from which a waiting row may be claimed, and NULL while an earlier row of
-- its conversation waits. A claim reads the head of `outbox_due` of one channel; a row that it
-- finds behind another one loses its `due_at`, and gets it back when the rows before it have ended.
--
-- Nodes of the previous release know neither `channel` nor `due_at`: the default of `due_at` makes
-- their rows visible to a claim, and the triggers do the rest. `outbox_channel` can be dropped in
-- the release after the next one.

ALTER TABLE outbox ADD COLUMN channel TEXT NOT NULL DEFAULT '';
ALTER TABLE outbox ADD COLUMN due_at BIGINT DEFAULT 0;
-- Failed tries whose outcome is unknown.
ALTER TABLE outbox ADD COLUMN unknowns BIGINT NOT NULL DEFAULT 0;
-- For how long the row has failed while its channel worked.
ALTER TABLE outbox ADD COLUMN aged_ms BIGINT NOT NULL DEFAULT 0;

UPDATE outbox
SET channel = (SELECT c.channel FROM conversations c WHERE c.id = outbox.conversation)
WHERE status <> 'sent';

UPDATE outbox
SET due_at = CASE
    WHEN EXISTS (
        SELECT 1 FROM outbox p
        WHERE p.conversation = outbox.conversation AND p.status = 'waiting'
        AND (p.seq, p.part, p.id) < (outbox.seq, outbox.part, outbox.id)
    ) THEN NULL
    ELSE MAX(not_before, created_at)
END
WHERE status = 'waiting';

CREATE INDEX outbox_due ON outbox (channel, due_at) WHERE status = 'waiting' AND due_at IS NOT NULL;

CREATE TRIGGER outbox_channel AFTER INSERT ON outbox WHEN NEW.channel = ''
BEGIN
    UPDATE outbox
    SET channel = (SELECT c.channel FROM conversations c WHERE c.id = NEW.conversation)
    WHERE id = NEW.id;
END;

CREATE TRIGGER outbox_next AFTER UPDATE OF status ON outbox
WHEN OLD.status = 'waiting' AND NEW.status <> 'waiting'
BEGIN
    UPDATE outbox
    SET due_at = MAX(not_before, created_at)
    WHERE due_at IS NULL AND id = (
        SELECT n.id FROM outbox n
        WHERE n.conversation = NEW.conversation AND n.status = 'waiting'
        ORDER BY n.seq, n.part, n.id
        LIMIT 1
    );
END;
