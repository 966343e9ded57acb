-- The ids of messages and presses, without those of webhooks, which are kept longer.

CREATE INDEX deliveries_by_age ON deliveries (at)
    WHERE channel <> 'answers' AND channel NOT LIKE 'hooks/%';
