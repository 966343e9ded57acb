-- The statements of 3e20d08.
-- wait for an album
UPDATE outbox
SET not_before = $1
WHERE conversation = $2 AND status = 'waiting' AND attempts = 0
;
-- behind the first picture
SELECT o.id, o.body, COALESCE(o.receipt, o.edits) FROM outbox o
JOIN outbox f ON f.id = $1 AND f.conversation = o.conversation
WHERE o.status = 'waiting' AND (o.seq, o.part, o.id) > (f.seq, f.part, f.id)
ORDER BY o.seq, o.part, o.id
LIMIT $2
;
-- note of an album
UPDATE outbox
SET receipt = $1
WHERE id = $2 AND status = 'waiting'
;
-- show instead
UPDATE outbox
SET body = $1, receipt = NULL
WHERE id = $2 AND status = 'waiting'
;
-- forget old answers, and the try of what may be tried again
DELETE FROM answers
WHERE at <= $1
OR (caller = $2 AND name = $3 AND request = $5 AND status IS NULL AND at <= $4)
;
-- begin to answer
INSERT INTO answers (caller, name, request, media_type, body, at)
VALUES ($1, $2, $3, '', '', $4)
ON CONFLICT (caller, name) DO NOTHING
;
-- answer
SELECT request, status, media_type, body, at FROM answers
WHERE caller = $1 AND name = $2
;
-- keep answer
UPDATE answers
SET status = $1, media_type = $2, body = $3
WHERE caller = $4 AND name = $5
;
-- forget the try
DELETE FROM answers
WHERE caller = $1 AND name = $2
;
-- mint token
INSERT INTO approval_tokens (hash, approval)
VALUES ($1, $2)
;
-- ask
INSERT INTO approvals
(id, conversation, call, asks, tool, arguments, digest, title, requester, question,
status, created_at, expires_at, approvers, offers, proposal, shown_in)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'pending', $11, $12, $13, $14, $15, $16)
;
-- approvals
SELECT a.id, a.conversation, a.call, a.asks, a.tool, a.arguments, a.title, a.requester,
a.question, a.status, a.expires_at, a.decided_by, a.approvers, a.offers,
a.proposal, a.shown_in
FROM approvals a
JOIN approval_tokens t ON t.approval = a.id
WHERE t.hash = $1
;
-- approvals
SELECT a.id, a.conversation, a.call, a.asks, a.tool, a.arguments, a.title, a.requester,
a.question, a.status, a.expires_at, a.decided_by, a.approvers, a.offers,
a.proposal, a.shown_in
FROM approvals a
WHERE a.id = $1
;
-- approvals
SELECT a.id, a.conversation, a.call, a.asks, a.tool, a.arguments, a.title, a.requester,
a.question, a.status, a.expires_at, a.decided_by, a.approvers, a.offers,
a.proposal, a.shown_in
FROM approvals a
WHERE a.status = 'pending' AND (a.conversation = $1 OR a.conversation IN (
SELECT id FROM conversations WHERE root = $1
))
ORDER BY a.id
;
-- approvals
SELECT a.id, a.conversation, a.call, a.asks, a.tool, a.arguments, a.title, a.requester,
a.question, a.status, a.expires_at, a.decided_by, a.approvers, a.offers,
a.proposal, a.shown_in
FROM approvals a
JOIN conversations s ON s.id = a.shown_in
JOIN conversations c
ON c.channel = s.channel AND c.chat = s.chat AND c.thread = s.thread
WHERE c.id = $1 AND a.status = 'pending'
ORDER BY a.id
;
-- approvals
SELECT a.id, a.conversation, a.call, a.asks, a.tool, a.arguments, a.title, a.requester,
a.question, a.status, a.expires_at, a.decided_by, a.approvers, a.offers,
a.proposal, a.shown_in
FROM approvals a
WHERE a.shown_in = $1 AND a.status = 'pending'
ORDER BY a.id
;
-- approvals
SELECT a.id, a.conversation, a.call, a.asks, a.tool, a.arguments, a.title, a.requester,
a.question, a.status, a.expires_at, a.decided_by, a.approvers, a.offers,
a.proposal, a.shown_in
FROM approvals a
WHERE a.status = 'pending'
ORDER BY a.conversation, a.id
LIMIT $1
;
-- asked since
SELECT COUNT(*) FROM approvals
WHERE created_at > $2 AND (conversation = $1 OR conversation IN (
SELECT id FROM conversations WHERE root = $1
))
;
-- approvals
SELECT a.id, a.conversation, a.call, a.asks, a.tool, a.arguments, a.title, a.requester,
a.question, a.status, a.expires_at, a.decided_by, a.approvers, a.offers,
a.proposal, a.shown_in
FROM approvals a
WHERE a.status = 'pending' AND a.expires_at <= $1
ORDER BY a.expires_at
LIMIT $2
;
-- settle
UPDATE approvals
SET status = $1, decided_by = $2, decided_at = $3
WHERE id = $4 AND status = 'pending'
RETURNING created_at
;
-- lock audit head
INSERT INTO audit_heads (chain, n, hash, sealed)
VALUES ($1, 0, '', 0)
ON CONFLICT (chain) DO UPDATE
SET n = audit_heads.n
RETURNING n, hash
;
-- move audit head
UPDATE audit_heads
SET n = $2, hash = $3
WHERE chain = $1
;
-- insert audit
INSERT INTO audit (chain, n, at, kind, person, tool, body, hash)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
;
-- unsealed
SELECT chain, n, hash FROM audit_heads
WHERE sealed < n AND chain <> $1
ORDER BY chain
LIMIT $2
;
-- seal
UPDATE audit_heads
SET sealed = $2
WHERE chain = $1
;
-- old ends
SELECT a.chain, a.n, a.hash
FROM audit a
JOIN (
SELECT old.chain, MAX(old.n) AS n
FROM audit old
JOIN audit_heads h ON h.chain = old.chain AND old.n <= h.sealed
WHERE old.at < $1 AND old.chain <> $2
GROUP BY old.chain
ORDER BY old.chain
LIMIT $3
) last ON last.chain = a.chain AND last.n = a.n
;
-- cut off
UPDATE audit_heads
SET sealed = n
WHERE chain = $1
RETURNING chain, n, hash
;
-- cut
DELETE FROM audit
WHERE chain = $1 AND n <= $2
;
-- search audit
SELECT chain, n, at, kind, person, tool, body, hash FROM audit
WHERE at >= $1 AND at < $2
AND ($3 = '' OR chain = $3)
AND ($4 = '' OR person = $4)
AND ($5 = '' OR tool = $5)
AND ($6 = '' OR kind = $6)
AND (at < $8 OR (at = $8 AND (chain > $9 OR (chain = $9 AND n < $10))))
ORDER BY at DESC, chain, n DESC
LIMIT $7
;
-- reconnects
SELECT times FROM reconnects
WHERE channel = $1
;
-- reconnect
INSERT INTO reconnects (channel, times)
VALUES ($1, 1)
ON CONFLICT (channel) DO UPDATE
SET times = reconnects.times + 1
;
-- keep draft
INSERT INTO drafts (conversation, receipt)
VALUES ($1, $2)
ON CONFLICT (conversation) DO NOTHING
;
-- draft
SELECT receipt FROM drafts
WHERE conversation = $1
;
-- take draft
DELETE FROM drafts
WHERE conversation = $1
RETURNING receipt
;
-- speak
UPDATE conversations
SET language = $1
WHERE id = $2 AND language <> $1
;
-- language
SELECT language FROM conversations
WHERE id = $1
;
-- read after
UPDATE conversations
SET not_before = $1
WHERE id = $2 AND not_before <> $1
;
-- is busy
SELECT c.last_seq FROM conversations c
WHERE c.id = $1 AND (c.ready_at IS NOT NULL OR EXISTS (
SELECT 1 FROM approvals a
WHERE a.conversation = c.id AND a.status = 'pending'
) OR EXISTS (
SELECT 1 FROM tasks t
WHERE t.parent = c.id AND t.status = 'open'
))
;
-- said lately
SELECT at, body FROM events
WHERE conversation = $1 AND body LIKE '{"kind":"said"%'
ORDER BY seq DESC
LIMIT $2
;
-- chosen model
SELECT body FROM events
WHERE conversation = $1 AND body LIKE '{"kind":"model_chosen"%'
ORDER BY seq DESC
LIMIT 1
;
-- close
UPDATE outbox
SET status = 'gone', problem = 'the bot was shown out', lease_until = 0
WHERE status = 'waiting' AND conversation = $1
;
-- is quiet
SELECT c.last_seq FROM conversations c
WHERE c.channel = $1 AND (c.ready_at IS NOT NULL OR EXISTS (
SELECT 1 FROM outbox o
WHERE o.conversation = c.id AND o.status = 'waiting'
))
LIMIT 1
;
-- forget what is over
DELETE FROM parked
WHERE until <= $1
;
-- park
INSERT INTO parked (channel, chat, until)
VALUES ($1, $2, $3)
ON CONFLICT (channel, chat) DO UPDATE
SET until = CASE WHEN parked.until > $3 THEN parked.until ELSE $3 END
;
-- spoke in
SELECT DISTINCT e.conversation FROM events e
JOIN conversations c ON c.id = e.conversation
WHERE c.channel = $1 AND e.body LIKE $2 ESCAPE '!'
ORDER BY e.conversation
;
-- is under way
SELECT COUNT(ready_at) FROM conversations
WHERE id = $1
;
-- bodies with digests
SELECT body FROM events
WHERE conversation = $1 AND body LIKE '%"digest":%'
UNION ALL
SELECT body FROM outbox
WHERE conversation = $1 AND body LIKE '%"digest":%'
;
-- is shown still
SELECT conversation FROM outbox
WHERE body LIKE $1
UNION ALL
SELECT conversation FROM events
WHERE body LIKE $1
LIMIT 1
;
DELETE FROM approval_tokens WHERE approval IN (SELECT id FROM approvals WHERE conversation = $1)
;
DELETE FROM votes WHERE approval IN (SELECT id FROM approvals WHERE conversation = $1)
;
DELETE FROM grants WHERE scope = 'conversation' AND owner = $1
;
DELETE FROM approvals WHERE conversation = $1
;
DELETE FROM drafts WHERE conversation = $1
;
DELETE FROM schedules WHERE conversation = $1
;
DELETE FROM outbox WHERE conversation = $1
;
DELETE FROM events WHERE conversation = $1
;
DELETE FROM usage WHERE conversation = $1
;
DELETE FROM tasks WHERE conversation = $1 OR parent = $1
;
DELETE FROM conversations WHERE id = $1
;
-- forget in the journal
UPDATE events
SET body = $1
WHERE conversation = $2 AND seq = $3
;
-- forget what they wanted later
DELETE FROM schedules
WHERE conversation = $1 AND by_whom LIKE $2 ESCAPE '!'
;
-- what was shown
SELECT id, body FROM outbox
WHERE conversation = $1
;
-- forget what was shown
UPDATE outbox
SET body = $1
WHERE id = $2
;
-- forget what was asked for them
UPDATE approvals
SET arguments = '{}', title = $1, requester = $2, proposal = NULL
WHERE conversation = $3 AND requester LIKE $4 ESCAPE '!'
;
-- what was asked for others
SELECT id, title, arguments FROM approvals
WHERE conversation = $1
;
-- forget whom it named
UPDATE approvals
SET title = $1, arguments = $2,
proposal = CASE WHEN status = 'pending' THEN proposal END
WHERE id = $3
;
-- forget who decided
UPDATE approvals
SET decided_by = $1
WHERE id = $2
;
-- forget who gave leave
UPDATE grants
SET given_by = $1
WHERE approval = $2 AND given_by LIKE $3 ESCAPE '!'
;
DELETE FROM people WHERE channel = $1 AND person = $2
;
DELETE FROM pairing_failures WHERE channel = $1 AND person = $2
;
UPDATE votes SET name = '', person = 'erased ' || approval WHERE channel = $1 AND person = $2
;
DELETE FROM grants WHERE scope = 'person' AND owner = $1
;
DELETE FROM rates WHERE person = $1
;
DELETE FROM floods WHERE person = $1
;
DELETE FROM usage WHERE person = $1
;
DELETE FROM access_tokens WHERE name = $1
;
-- forget what could not be read
DELETE FROM unparsed
WHERE channel = $1 AND raw LIKE $2 ESCAPE '!'
;
-- what waits to be shown
SELECT COUNT(*), MIN(created_at) FROM outbox
WHERE status = 'waiting'
;
-- what waits for people
SELECT COUNT(*), MIN(created_at) FROM approvals
WHERE status = 'pending'
;
-- what waits to be told, what was never taken
SELECT COUNT(CASE WHEN status = 'waiting' THEN 1 END),
MIN(CASE WHEN status = 'waiting' THEN created_at END),
COUNT(CASE WHEN status = 'dead' THEN 1 END)
FROM notices
WHERE status IN ('waiting', 'dead')
;
-- who is advanced
SELECT COUNT(CASE WHEN lease_until > $1 THEN 1 END),
COUNT(CASE WHEN lease_until <= $1 THEN 1 END)
FROM conversations
WHERE ready_at IS NOT NULL
;
-- duties
SELECT COUNT(*) FROM leases
WHERE until > $1
;
-- grants
SELECT id, tool, covers, scope, owner, given_by, expires_at, uses_left FROM grants
WHERE revoked_at IS NULL AND expires_at > $1 AND (uses_left IS NULL OR uses_left > 0) AND ((scope = 'person' AND owner = $2)
OR (scope = 'conversation' AND owner = $3)
OR scope = 'bot')
ORDER BY id
;
-- grants
SELECT id, tool, covers, scope, owner, given_by, expires_at, uses_left FROM grants
WHERE revoked_at IS NULL AND expires_at > $1 AND (uses_left IS NULL OR uses_left > 0) ORDER BY id
;
-- grants
SELECT id, tool, covers, scope, owner, given_by, expires_at, uses_left FROM grants
WHERE revoked_at IS NULL AND expires_at > $1 AND (uses_left IS NULL OR uses_left > 0) AND id > $2
ORDER BY id
LIMIT $3
;
-- grants
SELECT id, tool, covers, scope, owner, given_by, expires_at, uses_left FROM grants
WHERE revoked_at IS NULL AND expires_at > $1 AND (uses_left IS NULL OR uses_left > 0) AND id = $2
;
-- grants
SELECT id, tool, covers, scope, owner, given_by, expires_at, uses_left FROM grants
WHERE revoked_at IS NULL AND expires_at > $1 AND (uses_left IS NULL OR uses_left > 0) AND approval = $2
;
-- give
INSERT INTO grants
(id, tool, covers, scope, owner, approval, given_by, given_at, expires_at, uses_left)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
;
-- revoke
UPDATE grants
SET revoked_at = $1, revoked_by = $2
WHERE id = $3 AND revoked_at IS NULL
RETURNING approval
;
-- spend
UPDATE grants
SET uses_left = uses_left - 1
WHERE id = $1 AND revoked_at IS NULL AND expires_at > $2
AND (uses_left IS NULL OR uses_left > 0)
;
-- halt
INSERT INTO halts (name, by_whom, since)
VALUES ($1, $2, $3)
ON CONFLICT (name) DO NOTHING
;
-- lift
DELETE FROM halts
WHERE name = $1
;
-- halt at hand
SELECT by_whom, since FROM halts
WHERE name = $1
;
-- history
SELECT id, seq, body, edits, status, created_at FROM outbox
WHERE conversation = $1
ORDER BY seq DESC, part DESC, id DESC
LIMIT $2
;
-- history, piece by piece
SELECT id, seq, body, edits, status, created_at FROM outbox
WHERE conversation = $1 AND id > $2
ORDER BY id
LIMIT $3
;
-- files shown
SELECT body FROM outbox
WHERE conversation = $1 AND body LIKE $2
;
-- first seen
INSERT INTO deliveries (channel, delivery, at)
VALUES ($1, $2, $3)
ON CONFLICT (channel, delivery) DO NOTHING
;
-- was seen
SELECT at FROM deliveries
WHERE channel = $1 AND delivery = $2
;
-- keep unparsed
INSERT INTO unparsed (channel, delivery, at, raw)
VALUES ($1, $2, $3, $4)
ON CONFLICT (channel, delivery) DO NOTHING
;
-- position
SELECT position FROM positions
WHERE channel = $1
;
-- move position
INSERT INTO positions (channel, position)
VALUES ($1, $2)
ON CONFLICT (channel) DO UPDATE
SET position = $2
;
-- events after
SELECT seq, at, body FROM events
WHERE conversation = $1 AND seq > $2
ORDER BY seq
;
-- append
UPDATE conversations
SET last_seq = last_seq + 1, ready_at = COALESCE(ready_at, $1)
WHERE id = $2
RETURNING last_seq
;
-- insert event
INSERT INTO events (conversation, seq, fence, at, body)
VALUES ($1, $2, $3, $4, $5)
;
-- begin conversation
INSERT INTO conversations
(id, channel, chat, thread, person, place, last_seq, lease_node, lease_until, fence,
created_at)
VALUES ($1, $2, $3, $4, $5, $6, 0, '', 0, 0, $7)
ON CONFLICT (channel, chat, thread, person) DO NOTHING
;
-- find conversation
SELECT id FROM conversations
WHERE channel = $1 AND chat = $2 AND thread = $3 AND person = $4
;
-- last seq
SELECT last_seq FROM conversations
WHERE id = $1
;
-- lock
UPDATE conversations
SET last_seq = last_seq
WHERE id = $1
;
-- signing key
INSERT INTO signing_keys (name, secret)
VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE
SET secret = signing_keys.secret
RETURNING secret
;
-- holds
SELECT fence FROM conversations
WHERE id = $1 AND lease_node = $2 AND fence = $3 AND lease_until > $4
;
-- lock under a lease
UPDATE conversations
SET fence = fence
WHERE id = $1 AND lease_node = $2 AND fence = $3
;
-- any ready
SELECT fence FROM conversations
WHERE ready_at <= $1 AND lease_until <= $1 AND not_before <= $2
LIMIT 1
;
-- hold duty
INSERT INTO leases (name, node, until, fence)
VALUES ($1, $2, $3, 1)
ON CONFLICT (name) DO UPDATE
SET node = $2, until = $3, fence = leases.fence + 1
WHERE leases.node = $2 OR leases.until <= $4
;
-- release conversations
UPDATE conversations
SET lease_until = 0
WHERE lease_node = $1 AND lease_until > 0
;
-- release sends
UPDATE outbox
SET lease_until = 0
WHERE lease_node = $1 AND status = 'waiting' AND lease_until > 0
;
-- release duties
DELETE FROM leases
WHERE node = $1
;
-- claim
UPDATE conversations
SET lease_node = $1, lease_until = $2, fence = fence + 1
WHERE id IN (
SELECT id FROM conversations
WHERE ready_at <= $3 AND lease_until <= $3 AND not_before <= $5
ORDER BY ready_at
LIMIT $4 FOR UPDATE SKIP LOCKED)
RETURNING id, channel, place, language, fence, agent, root, depth
;
-- heartbeat
UPDATE conversations
SET lease_until = $1
WHERE lease_node = $2 AND lease_until > 0 AND id IN (SELECT json_array_elements_text(CAST($3 AS JSON)))
;
-- heartbeat
UPDATE outbox
SET lease_until = $1
WHERE lease_node = $2 AND lease_until > 0 AND id IN (SELECT json_array_elements_text(CAST($3 AS JSON)))
;
-- list approvals
SELECT a.id, a.conversation, c.channel, a.asks, a.tool, a.arguments, a.title, a.requester,
a.approvers, a.offers, a.status, a.created_at, a.expires_at, a.decided_at,
a.decided_by
FROM approvals a
JOIN conversations c ON c.id = a.conversation
WHERE ($1 = '' OR a.id < $1)
AND ($2 = '' OR a.id = $2)
AND ($3 = '' OR a.conversation = $3)
AND ($4 < 0 OR ($4 = 1 AND a.status = 'pending') OR ($4 = 0 AND a.status <> 'pending'))
ORDER BY a.id DESC
LIMIT $5
;
-- list conversations
SELECT c.id, c.channel, c.place, c.last_seq, c.ready_at, c.created_at, e.at
FROM conversations c
LEFT JOIN events e ON e.conversation = c.id AND e.seq = c.last_seq
WHERE ($1 = '' OR c.id < $1)
AND ($2 = '' OR c.id = $2)
AND ($3 = '' OR c.channel = $3)
AND ($4 = '' OR c.chat = $4)
ORDER BY c.id DESC
LIMIT $5
;
-- list events
SELECT seq, at, body FROM events
WHERE conversation = $1 AND seq > $2
ORDER BY seq
LIMIT $3
;
-- list outbox; what was taken back before it was sent has no problem
SELECT o.id, o.conversation, c.channel, o.body, o.status, o.attempts, o.problem,
o.created_at
FROM outbox o
JOIN conversations c ON c.id = o.conversation
WHERE ($1 = '' OR o.id < $1)
AND ($2 = '' OR o.id = $2)
AND (($3 = 1 AND o.status IN ('refused', 'gone') AND COALESCE(o.problem, '') <> '')
OR ($3 = 0 AND o.body LIKE '{"kind":"file"%'))
ORDER BY o.id DESC
LIMIT $4
;
-- replay
UPDATE outbox
SET status = 'waiting', attempts = 0, not_before = 0, lease_until = 0
WHERE id = $1 AND status IN ('refused', 'gone') AND COALESCE(problem, '') <> ''
;
-- drop
UPDATE outbox
SET problem = NULL
WHERE id = $1 AND status IN ('refused', 'gone') AND COALESCE(problem, '') <> ''
;
-- traffic
SELECT c.channel,
COUNT(CASE WHEN o.status = 'waiting' THEN 1 END),
MIN(CASE WHEN o.status = 'waiting' THEN o.created_at END),
COUNT(CASE WHEN o.status <> 'waiting' AND COALESCE(o.problem, '') <> '' THEN 1 END)
FROM outbox o
JOIN conversations c ON c.id = o.conversation
WHERE o.status IN ('waiting', 'refused', 'gone')
GROUP BY c.channel
;
-- who listens
SELECT name FROM leases
WHERE name LIKE 'listen %' AND until > $1
;
-- list people
SELECT channel, person, name, role, since FROM people
WHERE (channel, person) > ($1, $2)
ORDER BY channel, person
LIMIT $3
;
-- put person
INSERT INTO people (channel, person, name, role, since)
VALUES ($1, $2, $2, $3, $4)
ON CONFLICT (channel, person) DO UPDATE
SET role = $3
;
-- remove person
DELETE FROM people
WHERE channel = $1 AND person = $2
;
-- tools of servers
SELECT server, tool, definition, offered, vouched_by FROM mcp_tools
ORDER BY server, tool
;
-- offer tool
UPDATE mcp_tools
SET offered = $1, changed_at = $2
WHERE server = $3 AND tool = $4
;
-- remember tool
INSERT INTO mcp_tools (server, tool, definition, vouched_by, changed_at)
VALUES ($1, $2, $3, '', $4)
ON CONFLICT (server, tool) DO NOTHING
;
-- trust tool
UPDATE mcp_tools
SET definition = $1, offered = NULL, vouched_by = $2, changed_at = $3
WHERE server = $4 AND tool = $5
;
-- recall
SELECT path, content, by_whom, taint, changed_at FROM memories
WHERE agent = $1 AND shelf = $2 AND path = $3
;
-- list memories
SELECT path, '', by_whom, taint, changed_at FROM memories
WHERE agent = $1 AND shelf = $2
ORDER BY changed_at DESC, path
;
-- lay memory
INSERT INTO memories
(id, agent, shelf, path, content, by_whom, taint, call, changed_at)
VALUES ($1, $2, $3, $4, '', $5, '[]', '', $6)
ON CONFLICT (agent, shelf, path) DO NOTHING
;
-- lock memory
UPDATE memories
SET changed_at = changed_at
WHERE agent = $1 AND shelf = $2 AND path = $3
RETURNING id, call
;
-- write memory
UPDATE memories
SET content = $1, by_whom = $2, taint = $3, call = $4, changed_at = $5
WHERE id = $6
;
-- drop words
DELETE FROM memory_words
WHERE rowid = $1
;
-- forget memory
DELETE FROM memories
WHERE agent = $1 AND shelf = $2 AND path = $3
RETURNING id
;
-- clear shelf
DELETE FROM memories
WHERE shelf = $1 AND by_whom LIKE $2 ESCAPE '!'
RETURNING id
;
-- what lies there
SELECT id, call, path, content, by_whom, taint, changed_at FROM memories
WHERE shelf = $1
;
-- index memory
INSERT INTO memory_words (rowid, words)
VALUES ($1, CAST($2 AS TSVECTOR))
;
-- search memories
SELECT m.path, m.content, m.by_whom, m.taint, m.changed_at FROM memory_words
JOIN memories m ON m.id = memory_words.rowid
WHERE m.agent = $1 AND m.shelf = $2 AND memory_words.words @@ CAST($3 AS TSQUERY)
ORDER BY ts_rank(memory_words.words, CAST($3 AS TSQUERY)) DESC, m.changed_at DESC
LIMIT $4
;
-- any notice
SELECT attempts FROM notices
WHERE status = 'waiting'
LIMIT 1
;
-- told
UPDATE notices
SET status = $1, not_before = $2, lease_until = 0
WHERE id = $3 AND status = 'waiting'
;
-- log a try
INSERT INTO notice_tries (notice, n, at, status, problem)
SELECT $1, COALESCE(MAX(n), 0) + 1, $2, $3, $4 FROM notice_tries
WHERE notice = $1
;
-- list notices
SELECT id, subscription, topic, body, status, attempts, created_at FROM notices
WHERE ($1 = '' OR id < $1)
AND ($2 = '' OR status = $2)
AND ($3 = '' OR id = $3)
ORDER BY id DESC
LIMIT $4
;
-- replay or drop
UPDATE notices
SET status = $1, attempts = 0, not_before = 0
WHERE id = $2 AND status = 'dead'
;
-- delivery log
SELECT at, status, problem FROM notice_tries
WHERE notice = $1
ORDER BY n
;
-- forget tries
DELETE FROM notice_tries
WHERE notice IN (
SELECT id FROM notices
WHERE status IN ('delivered', 'dropped') AND created_at < $1
)
;
-- forget notices
DELETE FROM notices
WHERE status IN ('delivered', 'dropped') AND created_at < $1
;
-- claim notices
UPDATE notices
SET lease_until = $1, attempts = attempts + 1
WHERE id IN (
SELECT id FROM notices
WHERE status = 'waiting' AND lease_until <= $2 AND not_before <= $3
ORDER BY not_before
LIMIT $4 FOR UPDATE SKIP LOCKED)
RETURNING id, subscription, topic, body, attempts
;
-- any waiting
SELECT part FROM outbox
WHERE status = 'waiting' AND lease_until <= $1 AND not_before <= $2
LIMIT 1
;
-- receipt of
SELECT receipt FROM outbox
WHERE id = $1
;
-- place of
SELECT channel, place, language FROM conversations
WHERE id = $1
;
-- placed
UPDATE outbox
SET receipt = $1
WHERE id = $2
;
-- end of a send
UPDATE outbox
SET status = $1, problem = $2, lease_until = 0, sent_at = $3,
receipt = COALESCE($4, receipt)
WHERE id = $5 AND status = 'waiting'
;
-- try again
UPDATE outbox
SET lease_until = 0, not_before = $1, problem = $2
WHERE id = $3 AND status = 'waiting'
;
-- put off
UPDATE outbox
SET lease_until = 0, not_before = $1, attempts = attempts - 1
WHERE id = $2 AND status = 'waiting'
;
-- take over
UPDATE outbox
SET receipt = $1
WHERE id = $2
;
-- next part
SELECT COALESCE(MAX(part), -1) + 1 FROM outbox
WHERE conversation = $1 AND seq = $2
;
-- put into the outbox
INSERT INTO outbox
(id, conversation, seq, part, body, edits, status, attempts, not_before,
lease_node, lease_until, created_at, approval)
VALUES ($1, $2, $3, $4, $5, $6, 'waiting', 0, 0, '', 0, $7, $8)
;
-- claim sends
UPDATE outbox
SET lease_node = $1, lease_until = $2, attempts = attempts + 1
WHERE id IN (
SELECT o.id FROM outbox o
WHERE o.status = 'waiting' AND o.lease_until <= $3 AND o.not_before <= $4
AND NOT EXISTS (
SELECT 1 FROM parked k
JOIN conversations c ON c.channel = k.channel AND k.chat IN ('', c.chat)
WHERE c.id = o.conversation AND k.until > $4
)
AND NOT EXISTS (
SELECT 1 FROM outbox p
WHERE p.conversation = o.conversation AND p.status = 'waiting'
AND (p.seq, p.part, p.id) < (o.seq, o.part, o.id)
)
ORDER BY o.created_at
LIMIT $5 FOR UPDATE SKIP LOCKED)
RETURNING id, conversation, body, edits, receipt, attempts, created_at
;
-- role
SELECT role FROM people
WHERE channel = $1 AND person = $2
;
-- offer pairing
INSERT INTO pairings (hash, channel, role, expires_at)
VALUES ($1, $2, 'member', $3)
;
-- redeem pairing
UPDATE pairings
SET used_by = $1
WHERE hash = $2 AND used_by IS NULL AND expires_at > $3
AND (channel = '' OR channel = $4)
;
-- welcome
INSERT INTO people (channel, person, name, role, since)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (channel, person) DO NOTHING
;
-- any owner
SELECT person FROM people
WHERE role = 'owner'
LIMIT 1
;
-- pairing failures
SELECT failures, last_at FROM pairing_failures
WHERE channel = $1 AND person = $2
;
-- count failure; after the lock it starts again
INSERT INTO pairing_failures (channel, person, failures, last_at)
VALUES ($1, $2, 1, $3)
ON CONFLICT (channel, person) DO UPDATE
SET failures = CASE
WHEN pairing_failures.last_at <= $4 THEN 1
ELSE pairing_failures.failures + 1
END,
last_at = $3
;
-- grant access
INSERT INTO access_tokens (hash, name, kind, created_at, expires_at)
VALUES ($1, $2, $3, $4, $5)
;
-- say whose session
UPDATE access_tokens
SET shown = $1, claims = $2
WHERE hash = $3
;
-- session
SELECT name, shown, claims FROM access_tokens
WHERE hash = $1 AND kind = 'session' AND expires_at > $2
;
-- redeem
DELETE FROM access_tokens
WHERE hash = $1 AND kind = $2 AND expires_at > $3
RETURNING name
;
-- sweep access
DELETE FROM access_tokens
WHERE expires_at <= $1
;
-- revoke session
DELETE FROM access_tokens
WHERE hash = $1 AND kind = 'session'
;
-- conversations of a chat
SELECT id FROM conversations
WHERE channel = $1 AND chat = $2
ORDER BY id
;
-- conversations of a chat
SELECT id, place FROM conversations
WHERE channel = $1 AND chat = $2
;
-- move conversation; where one has begun there already, only what it shows moves
UPDATE conversations
SET place = $2,
chat = CASE WHEN EXISTS (
SELECT 1 FROM conversations c
WHERE c.channel = $4 AND c.chat = $1 AND c.thread = conversations.thread
AND c.person = conversations.person
) THEN chat ELSE $1 END
WHERE id = $3
;
-- place of a conversation
SELECT channel, place FROM conversations
WHERE id = $1
;
-- whose conversation
SELECT person FROM conversations
WHERE id = $1
;
-- conversations of a person
SELECT id FROM conversations
WHERE channel = $1 AND person = $2
ORDER BY id
;
-- private conversations, with the first that happened in each
SELECT c.id, c.chat, c.thread, c.place, e.body FROM conversations c
LEFT JOIN events e ON e.conversation = c.id AND e.seq = 1
WHERE c.channel = $1
ORDER BY c.id
;
-- chats of a channel
SELECT chat, place FROM conversations
WHERE channel = $1
;
-- record: the fence is checked where the numbers are allotted
UPDATE conversations
SET last_seq = last_seq + $1
WHERE id = $2 AND lease_node = $3 AND fence = $4 AND ($5 < 0 OR last_seq = $5)
RETURNING last_seq
;
-- still ours?
SELECT last_seq FROM conversations
WHERE id = $1 AND lease_node = $2 AND fence = $3
;
-- rest
UPDATE conversations
SET ready_at = NULL, lease_until = 0
WHERE id = $1 AND lease_node = $2 AND fence = $3 AND last_seq = $4
;
-- release
UPDATE conversations
SET lease_until = 0
WHERE id = $1 AND lease_node = $2 AND fence = $3
;
-- version of the rules, role of a person
SELECT v.version, p.role
FROM guard_version v
LEFT JOIN people p ON p.channel = $1 AND p.person = $2
;
-- version of the rules
SELECT version FROM guard_version
;
-- rules
SELECT name, body FROM guard_rules
ORDER BY place, name
;
-- put rule
INSERT INTO guard_rules (name, place, body, changed_by, changed_at)
VALUES ($1, (SELECT COALESCE(MAX(place), 0) + 1 FROM guard_rules), $2, $3, $4)
ON CONFLICT (name) DO UPDATE
SET body = $2, changed_by = $3, changed_at = $4
;
-- remove rule
DELETE FROM guard_rules
WHERE name = $1
;
-- remove all rules
DELETE FROM guard_rules
;
-- raise the version of the rules
UPDATE guard_version
SET version = version + 1
;
-- due schedules
SELECT s.id, s.conversation, s.does, s.text, s.rule, s.zone, s.by_whom, s.taint, s.status,
s.due_at
FROM schedules s
JOIN conversations c ON c.id = s.conversation
WHERE s.status = 'waiting' AND s.due_at <= $1
AND (s.does = 'remind' OR (c.ready_at IS NULL AND NOT EXISTS (
SELECT 1 FROM approvals a
WHERE a.conversation = c.id AND a.status = 'pending'
)))
ORDER BY s.due_at
LIMIT $2
;
-- schedules of a conversation
SELECT id, conversation, does, text, rule, zone, by_whom, taint, status, due_at
FROM schedules
WHERE conversation = $1 AND status IN ('waiting', 'paused')
ORDER BY due_at, id
;
-- list schedules
SELECT id, conversation, does, text, rule, zone, by_whom, taint, status, due_at
FROM schedules
WHERE status IN ('waiting', 'paused')
AND ($1 = '' OR id < $1)
AND ($2 = '' OR conversation = $2)
ORDER BY id DESC
LIMIT $3
;
-- schedule
SELECT id, conversation, does, text, rule, zone, by_whom, taint, status, due_at
FROM schedules
WHERE id = $1
;
-- make schedule
INSERT INTO schedules
(id, conversation, does, text, rule, zone, by_whom, taint, status, due_at, created_at,
changed_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11)
;
-- fire schedule
UPDATE schedules
SET status = $1, due_at = $2, changed_at = $3
WHERE id = $4 AND status = 'waiting' AND due_at = $5
;
-- set schedule
UPDATE schedules
SET status = $1, due_at = $2, changed_at = $3
WHERE id = $4 AND status IN ('waiting', 'paused')
;
-- pause schedules
UPDATE schedules
SET status = 'paused', changed_at = $1
WHERE conversation = $2 AND status = 'waiting'
;
-- time zones of a conversation
SELECT zone, by_whom FROM schedules
WHERE conversation = $1
ORDER BY created_at DESC, id DESC
;
-- forget ended schedules
DELETE FROM schedules
WHERE status IN ('done', 'deleted') AND changed_at < $1
;
-- its buttons stand in that row now
UPDATE approvals
SET question = $1
WHERE id = $2
;
-- shown elsewhere
UPDATE approvals
SET question = $1, shown_in = $2
WHERE id = $3
;
-- kin of a row
SELECT approval, edits FROM outbox
WHERE id = $1
;
-- what a row shows
SELECT body FROM outbox
WHERE id = $1
;
-- parts of a question
SELECT body FROM outbox
WHERE approval = $1
ORDER BY seq, part, id
;
-- drop the parts of a question
UPDATE outbox
SET status = CASE WHEN status = 'waiting' THEN 'refused' ELSE status END, approval = NULL
WHERE approval = $1
;
-- begin sub-agent
INSERT INTO conversations
(id, channel, chat, thread, place, last_seq, lease_node, lease_until, fence,
created_at, language, agent, root, depth)
SELECT CAST($1 AS TEXT), channel, id, CAST($1 AS TEXT), place, 0, '', 0, 0,
CAST($2 AS BIGINT), language, CAST($3 AS TEXT), COALESCE(root, id), depth + 1
FROM conversations
WHERE id = $4
;
-- give task
INSERT INTO tasks (conversation, parent, call, place, status)
VALUES ($1, $2, $3, $4, 'open')
;
-- answer task
UPDATE tasks
SET status = 'ended', answer = $1
WHERE conversation = $2 AND status = 'open'
RETURNING parent, call
;
-- answers of a call
SELECT c.agent, t.status, t.answer FROM tasks t
JOIN conversations c ON c.id = t.conversation
WHERE t.parent = $1 AND t.call = $2
ORDER BY t.place
;
-- stop task
UPDATE tasks
SET status = 'stopped'
WHERE conversation = $1 AND status = 'open'
;
-- work under way
SELECT conversation FROM tasks
WHERE parent = $1 AND status = 'open'
ORDER BY conversation
;
-- relatives at work
SELECT c.id FROM conversations c
JOIN conversations own ON own.id = $1
WHERE c.id <> own.id
AND (c.id = own.root OR EXISTS (
SELECT 1 FROM tasks t
WHERE t.conversation = c.id AND t.status = 'open'
AND c.root = COALESCE(own.root, own.id)
))
ORDER BY c.id
;
-- at work
SELECT c.agent FROM conversations c
JOIN tasks t ON t.conversation = c.id
WHERE c.root = $1 AND t.status = 'open'
ORDER BY c.id
;
-- begun for
SELECT id FROM conversations
WHERE root = $1
ORDER BY id
;
-- home
SELECT COALESCE(root, id) FROM conversations
WHERE id = $1
;
-- create api token
INSERT INTO api_tokens (id, hash, name, role, created_by, created_at, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT DO NOTHING
;
-- api tokens
SELECT id, name, role, created_by, created_at, expires_at, used_at, revoked_at
FROM api_tokens WHERE hash = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)
;
-- api token was used
UPDATE api_tokens
SET used_at = $1
WHERE id = $2
;
-- api tokens
SELECT id, name, role, created_by, created_at, expires_at, used_at, revoked_at
FROM api_tokens WHERE $1 = '' OR id < $1
ORDER BY id DESC
LIMIT $2
;
-- revoke api token
UPDATE api_tokens
SET revoked_at = $1, revoked_by = $2
WHERE id = $3 AND revoked_at IS NULL
RETURNING name
;
-- version of the tools
SELECT version FROM tool_version
;
-- tool settings
SELECT kind, name, enabled, tier FROM tool_settings
;
-- raise the version of the tools
UPDATE tool_version
SET version = version + 1
;
-- change a tool
INSERT INTO tool_settings (kind, name, enabled, tier, changed_by, changed_at)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (kind, name) DO UPDATE
SET enabled = $3, tier = $4, changed_by = $5, changed_at = $6
;
-- unsubscribe all
DELETE FROM subscriptions
;
-- subscribe
INSERT INTO subscriptions (name, topics)
VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE
SET topics = $2
;
-- subscribers
SELECT name FROM subscriptions
WHERE topics LIKE $1
;
-- note
INSERT INTO notices
(id, subscription, topic, body, status, attempts, not_before, lease_until,
created_at)
VALUES ($1, $2, $3, $4, 'waiting', 0, 0, 0, $5)
;
-- channel state
INSERT INTO channel_states (channel, is_up, since)
VALUES ($1, $2, $3)
ON CONFLICT (channel) DO UPDATE
SET is_up = $2, since = $3
WHERE channel_states.is_up <> $2
;
-- recent calls
SELECT tool, calls FROM rates
WHERE person = $1
;
-- calls of person and tool
INSERT INTO rates (person, tool, calls, last_at)
VALUES ($1, $2, '', 0)
ON CONFLICT (person, tool) DO UPDATE
SET calls = rates.calls
RETURNING calls
;
-- count call
UPDATE rates
SET calls = $3, last_at = $4
WHERE person = $1 AND tool = $2
;
-- take message
INSERT INTO floods (person, even_at, refused)
VALUES ($1, $2 + $3, 0)
ON CONFLICT (person) DO UPDATE
SET even_at = CASE WHEN floods.even_at > $2 THEN floods.even_at ELSE $2 END + $3,
refused = 0
WHERE floods.even_at <= $2 + $4
;
-- refuse message
UPDATE floods
SET refused = refused + 1
WHERE person = $1
RETURNING even_at, refused
;
-- enter usage
INSERT INTO usage
(day, conversation, person, kind, name, times, messages, input_tokens, output_tokens,
cached_tokens, cost_micros, took_ms, agent)
VALUES ($1, $2, $3, $4, $5, 1, $6, $7, $8, $9, $10, $11, $12)
ON CONFLICT (day, conversation, agent, person, kind, name) DO UPDATE
SET times = usage.times + 1,
messages = usage.messages + $6,
input_tokens = usage.input_tokens + $7,
output_tokens = usage.output_tokens + $8,
cached_tokens = usage.cached_tokens + $9,
cost_micros = usage.cost_micros + $10,
took_ms = usage.took_ms + $11
;
-- spent
SELECT CAST(COALESCE(SUM(messages), 0) AS BIGINT),
CAST(COALESCE(SUM(input_tokens + output_tokens), 0) AS BIGINT),
CAST(COALESCE(SUM(cost_micros), 0) AS BIGINT),
CAST(COALESCE(SUM(CASE WHEN kind = 'tool' THEN took_ms ELSE 0 END), 0) AS BIGINT)
FROM usage
WHERE day = $1 AND ($2 = '' OR conversation = $2) AND ($3 = '' OR person = $3)
;
-- account
SELECT day, agent, person, kind, name, CAST(SUM(times) AS BIGINT),
CAST(SUM(input_tokens) AS BIGINT), CAST(SUM(output_tokens) AS BIGINT),
CAST(SUM(cached_tokens) AS BIGINT), CAST(SUM(cost_micros) AS BIGINT),
CAST(SUM(took_ms) AS BIGINT)
FROM usage
WHERE day >= $1
GROUP BY day, agent, person, kind, name
ORDER BY day, agent, person, kind, name
;
-- forget days of the account
DELETE FROM usage
WHERE day < $1
;
-- forget idle rates
DELETE FROM rates
WHERE last_at < $1
;
-- forget idle floods
DELETE FROM floods
WHERE even_at < $1
;
-- vectors of a shelf
SELECT m.path, v.vector FROM memories m
LEFT JOIN memory_vectors v ON v.memory = m.id AND v.model = $3
WHERE m.agent = $1 AND m.shelf = $2
ORDER BY m.changed_at DESC, m.path
;
-- memories without a vector
SELECT m.id, m.content, m.changed_at FROM memories m
WHERE m.agent = $1 AND m.shelf = $2 AND NOT EXISTS (
SELECT 1 FROM memory_vectors v WHERE v.memory = m.id AND v.model = $3
)
ORDER BY m.changed_at DESC, m.path
LIMIT $4
;
-- drop vectors
DELETE FROM memory_vectors
WHERE memory = $1
;
-- keep a vector
INSERT INTO memory_vectors (memory, model, vector)
SELECT id, $1, $2 FROM memories
WHERE id = $3 AND changed_at = $4 FOR UPDATE
ON CONFLICT (memory, model) DO UPDATE
SET vector = $2
;
-- audit heads
SELECT chain, n, hash FROM audit_heads
;
-- audit head
SELECT n, hash FROM audit_heads
WHERE chain = $1
;
-- has seal
SELECT n FROM audit
WHERE chain = $1 AND hash = $2
;
-- audit page
SELECT chain, n, at, kind, person, tool, body, hash FROM audit
WHERE (chain, n) > ($1, $2)
ORDER BY chain, n
LIMIT $3
;
-- take a vote back
DELETE FROM votes
WHERE approval = $1 AND channel = $2 AND person = $3 AND at <= $4
;
-- vote
INSERT INTO votes (approval, channel, person, name, at)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (approval, channel, person) DO NOTHING
;
-- votes
SELECT name FROM votes
WHERE approval = $1
ORDER BY at, person
;
-- votes with their voters
SELECT channel, person, name FROM votes
WHERE approval = $1
ORDER BY at, person
;
-- strike a vote out
DELETE FROM votes
WHERE approval = $1 AND channel = $2 AND person = $3
;
-- with role
SELECT person, role FROM people
WHERE channel = $1
ORDER BY since
;
-- make
INSERT INTO people (channel, person, name, role, since)
VALUES ($1, $2, '', $3, 0)
ON CONFLICT (channel, person) DO UPDATE SET role = $3
;
