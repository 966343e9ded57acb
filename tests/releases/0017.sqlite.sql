-- A SQLite database of the release 3e20d08, with a question open: see tests/it/store/releases.rs.
PRAGMA foreign_keys = OFF;
BEGIN;
CREATE TABLE _sqlx_migrations (
    version BIGINT PRIMARY KEY,
    description TEXT NOT NULL,
    installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    success BOOLEAN NOT NULL,
    checksum BLOB NOT NULL,
    execution_time BIGINT NOT NULL
    );
CREATE TABLE events (
    conversation TEXT NOT NULL REFERENCES conversations (id),
    seq BIGINT NOT NULL,
    fence BIGINT NOT NULL,
    at BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (conversation, seq)
    );
CREATE TABLE deliveries (
    channel TEXT NOT NULL,
    delivery TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (channel, delivery)
    );
CREATE TABLE unparsed (
    channel TEXT NOT NULL,
    delivery TEXT NOT NULL,
    at BIGINT NOT NULL,
    raw TEXT NOT NULL,
    PRIMARY KEY (channel, delivery)
    );
CREATE TABLE outbox (
    id TEXT PRIMARY KEY,
    conversation TEXT NOT NULL REFERENCES conversations (id),
    seq BIGINT NOT NULL,
    part BIGINT NOT NULL,
    body TEXT NOT NULL,
    edits TEXT,
    status TEXT NOT NULL,
    attempts BIGINT NOT NULL,
    not_before BIGINT NOT NULL,
    lease_node TEXT NOT NULL,
    lease_until BIGINT NOT NULL,
    receipt TEXT,
    problem TEXT,
    created_at BIGINT NOT NULL,
    sent_at BIGINT
    , approval TEXT);
CREATE TABLE approvals (
    id TEXT PRIMARY KEY,
    conversation TEXT NOT NULL REFERENCES conversations (id),
    call TEXT NOT NULL,
    asks TEXT NOT NULL,
    tool TEXT NOT NULL,
    arguments TEXT NOT NULL,
    digest TEXT NOT NULL,
    title TEXT NOT NULL,
    requester TEXT NOT NULL,
    question TEXT NOT NULL,
    status TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    decided_at BIGINT,
    decided_by TEXT
    , approvers TEXT NOT NULL DEFAULT '"requester"', offers TEXT NOT NULL DEFAULT 'acdrse', proposal TEXT, shown_in TEXT NOT NULL DEFAULT '');
CREATE TABLE approval_tokens (
    hash TEXT PRIMARY KEY,
    approval TEXT NOT NULL REFERENCES approvals (id)
    );
CREATE TABLE people (
    channel TEXT NOT NULL,
    person TEXT NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    since BIGINT NOT NULL,
    PRIMARY KEY (channel, person)
    );
CREATE TABLE pairings (
    hash TEXT PRIMARY KEY,
    channel TEXT NOT NULL,
    role TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_by TEXT
    );
CREATE TABLE pairing_failures (
    channel TEXT NOT NULL,
    person TEXT NOT NULL,
    failures BIGINT NOT NULL,
    last_at BIGINT NOT NULL,
    PRIMARY KEY (channel, person)
    );
CREATE TABLE access_tokens (
    hash TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
    , shown TEXT, claims TEXT);
CREATE TABLE leases (
    name TEXT PRIMARY KEY,
    node TEXT NOT NULL,
    until BIGINT NOT NULL,
    fence BIGINT NOT NULL
    );
CREATE TABLE positions (
    channel TEXT PRIMARY KEY,
    position TEXT NOT NULL
    );
CREATE TABLE votes (
    approval TEXT NOT NULL REFERENCES approvals (id),
    channel TEXT NOT NULL,
    person TEXT NOT NULL,
    name TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (approval, channel, person)
    );
CREATE TABLE grants (
    id TEXT PRIMARY KEY,
    tool TEXT NOT NULL,
    covers TEXT NOT NULL,
    scope TEXT NOT NULL,
    owner TEXT NOT NULL,
    approval TEXT NOT NULL,
    given_by TEXT NOT NULL,
    given_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    uses_left BIGINT,
    revoked_at BIGINT,
    revoked_by TEXT
    );
CREATE TABLE halts (
    name TEXT PRIMARY KEY,
    by_whom TEXT NOT NULL,
    since BIGINT NOT NULL
    );
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
CREATE TABLE rates (
    person TEXT NOT NULL,
    tool TEXT NOT NULL,
    calls TEXT NOT NULL,
    last_at BIGINT NOT NULL,
    PRIMARY KEY (person, tool)
    );
CREATE TABLE floods (
    person TEXT PRIMARY KEY,
    even_at BIGINT NOT NULL,
    refused BIGINT NOT NULL
    );
CREATE TABLE audit (
    chain TEXT NOT NULL,
    n BIGINT NOT NULL,
    at BIGINT NOT NULL,
    kind TEXT NOT NULL,
    person TEXT NOT NULL,
    tool TEXT NOT NULL,
    body TEXT NOT NULL,
    hash TEXT NOT NULL,
    PRIMARY KEY (chain, n)
    );
CREATE TABLE audit_heads (
    chain TEXT PRIMARY KEY,
    n BIGINT NOT NULL,
    hash TEXT NOT NULL,
    sealed BIGINT NOT NULL
    );
CREATE TABLE drafts (
    conversation TEXT PRIMARY KEY REFERENCES conversations (id),
    receipt TEXT NOT NULL
    );
CREATE TABLE parked (
    channel TEXT NOT NULL,
    chat TEXT NOT NULL,
    until BIGINT NOT NULL,
    PRIMARY KEY (channel, chat)
    );
CREATE TABLE conversations (
    id TEXT PRIMARY KEY,
    channel TEXT NOT NULL,
    chat TEXT NOT NULL,
    thread TEXT NOT NULL,
    place TEXT NOT NULL,
    last_seq BIGINT NOT NULL,
    ready_at BIGINT,
    lease_node TEXT NOT NULL,
    lease_until BIGINT NOT NULL,
    fence BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    language TEXT NOT NULL DEFAULT '',
    not_before BIGINT NOT NULL DEFAULT 0,
    person TEXT NOT NULL DEFAULT '', agent TEXT, root TEXT, depth BIGINT NOT NULL DEFAULT 0,
    UNIQUE (channel, chat, thread, person)
    );
CREATE TABLE api_tokens (
    id TEXT PRIMARY KEY,
    hash TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    used_at BIGINT,
    revoked_at BIGINT,
    revoked_by TEXT
    );
CREATE TABLE answers (
    caller TEXT NOT NULL,
    name TEXT NOT NULL,
    request TEXT NOT NULL,
    status BIGINT,
    media_type TEXT NOT NULL,
    body TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (caller, name)
    );
CREATE TABLE tool_settings (
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    enabled BOOLEAN NOT NULL,
    tier TEXT NOT NULL,
    changed_by TEXT NOT NULL,
    changed_at BIGINT NOT NULL,
    PRIMARY KEY (kind, name)
    );
CREATE TABLE tool_version (
    one BIGINT PRIMARY KEY,
    version BIGINT NOT NULL
    );
CREATE TABLE memories (
    id BIGINT PRIMARY KEY,
    agent TEXT NOT NULL,
    shelf TEXT NOT NULL,
    path TEXT NOT NULL,
    content TEXT NOT NULL,
    by_whom TEXT NOT NULL,
    taint TEXT NOT NULL,
    call TEXT NOT NULL,
    changed_at BIGINT NOT NULL,
    UNIQUE (agent, shelf, path)
    );
CREATE TABLE schedules (
    id TEXT PRIMARY KEY,
    conversation TEXT NOT NULL REFERENCES conversations (id),
    does TEXT NOT NULL,
    text TEXT NOT NULL,
    rule TEXT NOT NULL,
    zone TEXT NOT NULL,
    by_whom TEXT NOT NULL,
    taint TEXT NOT NULL,
    status TEXT NOT NULL,
    due_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    changed_at BIGINT NOT NULL
    );
CREATE TABLE tasks (
    conversation TEXT PRIMARY KEY REFERENCES conversations (id),
    parent TEXT NOT NULL REFERENCES conversations (id),
    call TEXT NOT NULL,
    place BIGINT NOT NULL,
    status TEXT NOT NULL,
    answer TEXT
    );
CREATE TABLE mcp_tools (
    server TEXT NOT NULL,
    tool TEXT NOT NULL,
    definition TEXT NOT NULL,
    offered TEXT,
    vouched_by TEXT NOT NULL,
    changed_at BIGINT NOT NULL,
    PRIMARY KEY (server, tool)
    );
CREATE TABLE signing_keys (
    name TEXT PRIMARY KEY,
    secret TEXT NOT NULL
    );
CREATE TABLE "usage" (
    day TEXT NOT NULL,
    conversation TEXT NOT NULL,
    agent TEXT NOT NULL,
    person TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    times BIGINT NOT NULL,
    messages BIGINT NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cached_tokens BIGINT NOT NULL,
    cost_micros BIGINT NOT NULL,
    took_ms BIGINT NOT NULL,
    PRIMARY KEY (day, conversation, agent, person, kind, name)
    );
CREATE TABLE reconnects (
    channel TEXT PRIMARY KEY,
    times BIGINT NOT NULL
    );
CREATE TABLE memory_vectors (
    memory BIGINT NOT NULL,
    model TEXT NOT NULL,
    vector TEXT NOT NULL,
    PRIMARY KEY (memory, model)
    );
CREATE TABLE subscriptions (
    name TEXT PRIMARY KEY,
    -- Between blanks.
    topics TEXT NOT NULL
    );
CREATE TABLE notices (
    id TEXT PRIMARY KEY,
    subscription TEXT NOT NULL,
    topic TEXT NOT NULL,
    body TEXT NOT NULL,
    -- waiting, delivered, dead, dropped
    status TEXT NOT NULL,
    attempts BIGINT NOT NULL,
    not_before BIGINT NOT NULL,
    lease_until BIGINT NOT NULL,
    created_at BIGINT NOT NULL
    );
CREATE TABLE notice_tries (
    notice TEXT NOT NULL REFERENCES notices (id),
    n BIGINT NOT NULL,
    at BIGINT NOT NULL,
    -- What the other side answered, if it did.
    status BIGINT,
    problem TEXT NOT NULL,
    PRIMARY KEY (notice, n)
    );
CREATE TABLE channel_states (
    channel TEXT PRIMARY KEY,
    is_up BOOLEAN NOT NULL,
    since BIGINT NOT NULL
    );
CREATE VIRTUAL TABLE memory_words USING fts5 (words, tokenize = 'unicode61 remove_diacritics 0');
INSERT INTO _sqlx_migrations (version, description, installed_on, success, checksum, execution_time) VALUES (1, 'first', '2026-05-04 10:00:00', 1, X'1af59f499d9748e1007e1329cfbf5d507d656bb70467cf739955ea28e9137de6ec472ac1b2cd463462785f18ee93e2d8', 0);
INSERT INTO _sqlx_migrations (version, description, installed_on, success, checksum, execution_time) VALUES (2, 'positions', '2026-05-04 10:00:00', 1, X'4cbf257af403757942f7aa8d9d6e589a9710cdabe512eb12f800800e6bf32a08d330c83e7b3e01cd48f5a424b5f1c4f3', 0);
INSERT INTO _sqlx_migrations (version, description, installed_on, success, checksum, execution_time) VALUES (3, 'approvals', '2026-05-04 10:00:00', 1, X'53992548d5276a4989827ed684d614c87934f34ff7c9ccdff7c03e076fa63e9b9c5dc30351107ba1f1d1271f2de04506', 0);
INSERT INTO _sqlx_migrations (version, description, installed_on, success, checksum, execution_time) VALUES (4, 'rules', '2026-05-04 10:00:00', 1, X'0e8408eb01cd509538c60a831bfec4ea65832ea2ae17d53bd01bbf3b8bf4ac0e64aa89e2588bb299cdb23faf87799e68', 0);
INSERT INTO _sqlx_migrations (version, description, installed_on, success, checksum, execution_time) VALUES (5, 'limits and audit', '2026-05-04 10:00:00', 1, X'8e459af43603a1d64bed5dc38efd69884bb14ed61e3771832bb9207eee1d6886aa4d5f152150ade4d8f379b4db6c6374', 0);
INSERT INTO _sqlx_migrations (version, description, installed_on, success, checksum, execution_time) VALUES (6, 'gateway', '2026-05-04 10:00:00', 1, X'262ddbdafcb8bc5c96a5ba1997fa631e69da1cf42be30c36c036e71ceefe83e7e1d63cea356ffd18903e103c2a898763', 0);
INSERT INTO _sqlx_migrations (version, description, installed_on, success, checksum, execution_time) VALUES (7, 'per person', '2026-05-04 10:00:00', 1, X'd0ad5625049f847768651fb1078c4856e653c1491abad6afe6e5371c3cc437064a924042d736ae414fcb9e497a74d60b', 0);
INSERT INTO _sqlx_migrations (version, description, installed_on, success, checksum, execution_time) VALUES (8, 'admin', '2026-05-04 10:00:00', 1, X'69c5d302e67f17b4c5d52621f878f4131707d7cfcbf303b584550fb56cf0394aab944a74907b243910650f65d9bba5e1', 0);
INSERT INTO _sqlx_migrations (version, description, installed_on, success, checksum, execution_time) VALUES (9, 'memory', '2026-05-04 10:00:00', 1, X'9cf8e27f4a44621928b6687b2d33ce328d6a9bedbc0dbed97a59a77caff4b5cb502cf4d5a51e0f7c6643852e10816f32', 0);
INSERT INTO _sqlx_migrations (version, description, installed_on, success, checksum, execution_time) VALUES (10, 'schedules', '2026-05-04 10:00:00', 1, X'd8ee9d444da9cf6c989b1d5cffe7fc9c53c400ee0b71ffc6dc04ffa6fdbb31193f70bd1d1e499f231018e3ede56546a6', 0);
INSERT INTO _sqlx_migrations (version, description, installed_on, success, checksum, execution_time) VALUES (11, 'tasks', '2026-05-04 10:00:00', 1, X'e892822e19692dcfed81d73444be34e39a484dbbaa82764a4d5ae8bfc68c813b61a58caa28e6f222e8b0d1de1f9d82ed', 0);
INSERT INTO _sqlx_migrations (version, description, installed_on, success, checksum, execution_time) VALUES (12, 'mcp tools', '2026-05-04 10:00:00', 1, X'3924763752e298185c390a5d9fa3feaa67640191b8ff09d1aaa8877efb09758f935bbccac92ee25a1d2033ed002257fe', 0);
INSERT INTO _sqlx_migrations (version, description, installed_on, success, checksum, execution_time) VALUES (13, 'operators', '2026-05-04 10:00:00', 1, X'fd2a7d5a4dea01cb0f1c778c2228357eacc8fe0500e9b00cd3d2060b80cf499c40948dd744f8fd67f00c754eaa656795', 0);
INSERT INTO _sqlx_migrations (version, description, installed_on, success, checksum, execution_time) VALUES (14, 'memory vectors', '2026-05-04 10:00:00', 1, X'97be3613cfae47409c78812fa939340caebabfd2c43e5596ab198063c6ca3777abb207c4399e80632aa4581c070c21af', 0);
INSERT INTO _sqlx_migrations (version, description, installed_on, success, checksum, execution_time) VALUES (15, 'webhooks', '2026-05-04 10:00:00', 1, X'5d904a30253e15005f8b44b5d27cb0fc0a57935ec512bd06e661e8ea71dd1fe748fcc4ceead23f3e8f026c9a705958f8', 0);
INSERT INTO _sqlx_migrations (version, description, installed_on, success, checksum, execution_time) VALUES (17, 'sign on', '2026-05-04 10:00:00', 1, X'9b491272250d934f3f2474692e9c5380988abdfefbe0ce11982b45af1044d2cdac4954825432d687b43d3e390873b686', 0);
INSERT INTO events (conversation, seq, fence, at, body) VALUES ('01a206da3a237008af4ba72641d2b3f7', 1, 0, 1795411294752, '{"kind":"said","by":{"id":"1","name":"Ann"},"text":"hello","message":"1"}');
INSERT INTO events (conversation, seq, fence, at, body) VALUES ('01a206da3a237008af4ba72641d2b3f7', 2, 0, 1795411294774, '{"kind":"said","by":{"id":"1","name":"Ann"},"text":"remember that I like honey","message":"2"}');
INSERT INTO events (conversation, seq, fence, at, body) VALUES ('01a206da3a237008af4ba72641d2b3f7', 3, 1, 1795411294875, '{"kind":"replied","text":"","calls":[{"id":"01a206da3a9a72f9a1c5181cfb836edf","model_id":"01a206da3a9a72f9a1c5181cfb836edf","tool":"memory_store","arguments":{"path":"MEMORY.md","content":"I like honey","append":true}}],"upto":2,"usage":{"input_tokens":149,"output_tokens":0,"cached_tokens":0}}');
INSERT INTO events (conversation, seq, fence, at, body) VALUES ('01a206da3a237008af4ba72641d2b3f7', 4, 1, 1795411295071, '{"kind":"tool_finished","call":"01a206da3a9a72f9a1c5181cfb836edf","result":{"outcome":"done","text":"MEMORY.md is kept (12 of 65536 bytes).","took_ms":145}}');
INSERT INTO events (conversation, seq, fence, at, body) VALUES ('01a206da3a237008af4ba72641d2b3f7', 5, 1, 1795411295249, '{"kind":"replied","text":"`memory_store` says:\n\n```\nMEMORY.md is kept (12 of 65536 bytes).\n```\n\n— demo model: a rule-based stand-in, not an AI. Set OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY or OLLAMA_HOST for a real one.","calls":[],"upto":4,"usage":{"input_tokens":159,"output_tokens":51,"cached_tokens":0}}');
INSERT INTO events (conversation, seq, fence, at, body) VALUES ('01a206da3a237008af4ba72641d2b3f7', 6, 0, 1795411297379, '{"kind":"said","by":{"id":"1","name":"Ann"},"text":"remind me in 5 minutes to call Bob","message":"3"}');
INSERT INTO events (conversation, seq, fence, at, body) VALUES ('01a206da3a237008af4ba72641d2b3f7', 7, 2, 1795411297397, '{"kind":"replied","text":"","calls":[{"id":"01a206da44747570a54c00fbc94a6d19","model_id":"01a206da44747570a54c00fbc94a6d19","tool":"enable_tool","arguments":{"names":["remind"]}}],"upto":6,"usage":{"input_tokens":218,"output_tokens":0,"cached_tokens":0}}');
INSERT INTO events (conversation, seq, fence, at, body) VALUES ('01a206da3a237008af4ba72641d2b3f7', 8, 2, 1795411297414, '{"kind":"tools_enabled","names":["remind"]}');
INSERT INTO events (conversation, seq, fence, at, body) VALUES ('01a206da3a237008af4ba72641d2b3f7', 9, 2, 1795411297414, '{"kind":"tool_finished","call":"01a206da44747570a54c00fbc94a6d19","result":{"outcome":"done","text":"Enabled for this conversation: remind.","took_ms":0}}');
INSERT INTO events (conversation, seq, fence, at, body) VALUES ('01a206da3a237008af4ba72641d2b3f7', 10, 2, 1795411297446, '{"kind":"replied","text":"","calls":[{"id":"01a206da44a677c39e3d0c5e144855cd","model_id":"01a206da44a677c39e3d0c5e144855cd","tool":"remind","arguments":{"text":"call Bob","in":"5 minutes"}}],"upto":9,"usage":{"input_tokens":228,"output_tokens":0,"cached_tokens":0}}');
INSERT INTO events (conversation, seq, fence, at, body) VALUES ('01a206da3a237008af4ba72641d2b3f7', 11, 2, 1795411297532, '{"kind":"tool_finished","call":"01a206da44a677c39e3d0c5e144855cd","result":{"outcome":"done","text":"144855cd: reminder \"call Bob\" of owner, next Monday 2026-11-23 05:26:37 (UTC, UTC+00:00), once","took_ms":25}}');
INSERT INTO events (conversation, seq, fence, at, body) VALUES ('01a206da3a237008af4ba72641d2b3f7', 12, 2, 1795411297554, '{"kind":"replied","text":"`remind` says:\n\n```\n144855cd: reminder \"call Bob\" of owner, next Monday 2026-11-23 05:26:37 (UTC, UTC+00:00), once\n```\n\n— demo model: a rule-based stand-in, not an AI. Set OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY or OLLAMA_HOST for a real one.","calls":[],"upto":11,"usage":{"input_tokens":251,"output_tokens":63,"cached_tokens":0}}');
INSERT INTO events (conversation, seq, fence, at, body) VALUES ('01a206da3a237008af4ba72641d2b3f7', 13, 0, 1795411301385, '{"kind":"said","by":{"id":"1","name":"Ann"},"text":"save a note: buy honey","message":"4"}');
INSERT INTO events (conversation, seq, fence, at, body) VALUES ('01a206da3a237008af4ba72641d2b3f7', 14, 3, 1795411301423, '{"kind":"replied","text":"","calls":[{"id":"01a206da542e70fc959777f58d767fbd","model_id":"01a206da542e70fc959777f58d767fbd","tool":"write_file","arguments":{"path":"notes/buy-honey.md","content":"buy honey\n"}}],"upto":13,"usage":{"input_tokens":320,"output_tokens":0,"cached_tokens":0}}');
INSERT INTO events (conversation, seq, fence, at, body) VALUES ('01a206da3a237008af4ba72641d2b3f7', 15, 3, 1795411301465, '{"kind":"approval_asked","approval":"01a206da545771ab80ef3f9064a37cb1","call":"01a206da542e70fc959777f58d767fbd","digest":"0ae4ed9f65788629dbe6bbb531374a1e88af23d5a7c7eb92df8f4b625b801d6a","asks":"allow"}');
INSERT INTO outbox (id, conversation, seq, part, body, edits, status, attempts, not_before, lease_node, lease_until, receipt, problem, created_at, sent_at, approval) VALUES ('01a206da3c147489adeda19a7320b462', '01a206da3a237008af4ba72641d2b3f7', 5, 0, '{"kind":"text","markdown":"`memory_store` says:\n\n```\nMEMORY.md is kept (12 of 65536 bytes).\n```\n\n— demo model: a rule-based stand-in, not an AI. Set OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY or OLLAMA_HOST for a real one.","reply_to":null}', NULL, 'sent', 1, 0, '01a206da36ab70e7b94fb9a7efe217f3', 0, '{"message":"01a206da3c147489adeda19a7320b462"}', '', 1795411295249, 1795411295352, NULL);
INSERT INTO outbox (id, conversation, seq, part, body, edits, status, attempts, not_before, lease_node, lease_until, receipt, problem, created_at, sent_at, approval) VALUES ('01a206da451573768ab2fd16b4bc2f09', '01a206da3a237008af4ba72641d2b3f7', 12, 0, '{"kind":"text","markdown":"`remind` says:\n\n```\n144855cd: reminder \"call Bob\" of owner, next Monday 2026-11-23 05:26:37 (UTC, UTC+00:00), once\n```\n\n— demo model: a rule-based stand-in, not an AI. Set OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY or OLLAMA_HOST for a real one.","reply_to":null}', NULL, 'sent', 1, 0, '01a206da36ab70e7b94fb9a7efe217f3', 0, '{"message":"01a206da451573768ab2fd16b4bc2f09"}', '', 1795411297554, 1795411297632, NULL);
INSERT INTO outbox (id, conversation, seq, part, body, edits, status, attempts, not_before, lease_node, lease_until, receipt, problem, created_at, sent_at, approval) VALUES ('01a206da545a70bf882d2db7b3e1c5e4', '01a206da3a237008af4ba72641d2b3f7', 15, 0, '{"kind":"text","markdown":"Allow **write\\_file**?\nWrites a file of the workspace\\: makes it\\, or replaces all of it\\. Use apply\\_patch to change a part of a file\\.\n\npath: `notes/buy-honey.md`\ncontent: 10 characters, SHA-256 `9d0af1eccd1f62d8…`, see below\n\n```\nbuy honey\n```\n\nwrite\\_file changes something\\, and no rule allows it\\.\nAsked for by owner. Open until 2026-11-23 05:51 UTC, code `64a37cb1`.\n\nTo answer, type:\n\n- Allow once: `/allow 64a37cb1`\n- Allow in this conversation: `/here 64a37cb1`\n- Always…: `/always 64a37cb1`\n- Deny: `/deny 64a37cb1`\n","reply_to":null}', NULL, 'sent', 1, 0, '01a206da36ab70e7b94fb9a7efe217f3', 0, '{"message":"01a206da545a70bf882d2db7b3e1c5e4"}', '', 1795411301465, 1795411301533, '01a206da545771ab80ef3f9064a37cb1');
INSERT INTO approvals (id, conversation, call, asks, tool, arguments, digest, title, requester, question, status, created_at, expires_at, decided_at, decided_by, approvers, offers, proposal, shown_in) VALUES ('01a206da545771ab80ef3f9064a37cb1', '01a206da3a237008af4ba72641d2b3f7', '01a206da542e70fc959777f58d767fbd', '"allow"', 'write_file', '{"path":"notes/buy-honey.md","content":"buy honey\n"}', '0ae4ed9f65788629dbe6bbb531374a1e88af23d5a7c7eb92df8f4b625b801d6a', 'Allow **write\_file**? `notes/buy-honey.md`', '{"id":"1","name":"Ann"}', '01a206da545a70bf882d2db7b3e1c5e4', 'pending', 1795411301465, 1795413101464, NULL, NULL, '"requester"', 'acgdw', '{"below":"notes"}', '01a206da3a237008af4ba72641d2b3f7');
INSERT INTO guard_version (one, version) VALUES (1, 0);
INSERT INTO rates (person, tool, calls, last_at) VALUES ('room/1', 'memory_store', '1795411295071', 1795411295071);
INSERT INTO rates (person, tool, calls, last_at) VALUES ('room/1', 'remind', '1795411297532', 1795411297532);
INSERT INTO floods (person, even_at, refused) VALUES ('room/1', 1795411303385, 0);
INSERT INTO audit (chain, n, at, kind, person, tool, body, hash) VALUES ('01a206da3a237008af4ba72641d2b3f7', 1, 1795411295071, 'ran', 'owner', 'memory_store', '{"call":"01a206da3a9a72f9a1c5181cfb836edf","digest":"376c719df93bddcdd03191167cbd49ad15770401107d0fb24032f3c73a8c30e0","arguments":{"path":"MEMORY.md","content":"I like honey","append":true},"rule":"policy","outcome":"done","took_ms":145}', '471c9d808c6b23f7ec7d133d83ccc04b2a6143b4a3a47b2638ac29c41fb7f533');
INSERT INTO audit (chain, n, at, kind, person, tool, body, hash) VALUES ('01a206da3a237008af4ba72641d2b3f7', 2, 1795411297532, 'ran', 'owner', 'remind', '{"call":"01a206da44a677c39e3d0c5e144855cd","digest":"d406f718d6a75f33c7393d612ce8d9dd4d6c9dec19304cb44556dede4b35c871","arguments":{"text":"call Bob","in":"5 minutes"},"rule":"policy","outcome":"done","took_ms":25}', '841402a040ed131aa6cf4c8bdb9a00d1c72c98068d194b59c3d3a32798cc115e');
INSERT INTO audit (chain, n, at, kind, person, tool, body, hash) VALUES ('01a206da3a237008af4ba72641d2b3f7', 3, 1795411301465, 'asked', 'owner', 'write_file', '{"call":"01a206da542e70fc959777f58d767fbd","digest":"0ae4ed9f65788629dbe6bbb531374a1e88af23d5a7c7eb92df8f4b625b801d6a","arguments":{"path":"notes/buy-honey.md","content":"buy honey\n"},"rule":"write_file changes something, and no rule allows it.","approval":"01a206da545771ab80ef3f9064a37cb1"}', '30a63c78fd496725094b182f914f83f077cd91a91177741eda49d9a41900951b');
INSERT INTO audit_heads (chain, n, hash, sealed) VALUES ('01a206da3a237008af4ba72641d2b3f7', 3, '30a63c78fd496725094b182f914f83f077cd91a91177741eda49d9a41900951b', 0);
INSERT INTO conversations (id, channel, chat, thread, place, last_seq, ready_at, lease_node, lease_until, fence, created_at, language, not_before, person, agent, root, depth) VALUES ('01a206da3a237008af4ba72641d2b3f7', 'room', '7', '', '{"chat":"7","thread":null,"kind":"private"}', 15, NULL, '01a206da36ab70e7b94fb9a7efe217f3', 0, 3, 1795411294752, '', 1795411301385, '', NULL, NULL, 0);
INSERT INTO tool_version (one, version) VALUES (1, 0);
INSERT INTO memories (id, agent, shelf, path, content, by_whom, taint, call, changed_at) VALUES (2634651503938020594, 'default', 'room/7', 'MEMORY.md', 'I like honey', '{"id":"1","name":"Ann"}', '[]', '01a206da3a9a72f9a1c5181cfb836edf', 1795411294914);
INSERT INTO schedules (id, conversation, does, text, rule, zone, by_whom, taint, status, due_at, created_at, changed_at) VALUES ('01a206da44a677c39e3d0c5e144855cd', '01a206da3a237008af4ba72641d2b3f7', 'remind', 'call Bob', '"once"', 'UTC', '{"id":"1","name":"Ann"}', '[]', 'waiting', 1795411597502, 1795411297502, 1795411297502);
INSERT INTO usage (day, conversation, agent, person, kind, name, times, messages, input_tokens, output_tokens, cached_tokens, cost_micros, took_ms) VALUES ('2026-11-23', '01a206da3a237008af4ba72641d2b3f7', 'default', 'room/1', 'model', 'main', 6, 4, 1325, 114, 0, 0, 0);
INSERT INTO usage (day, conversation, agent, person, kind, name, times, messages, input_tokens, output_tokens, cached_tokens, cost_micros, took_ms) VALUES ('2026-11-23', '01a206da3a237008af4ba72641d2b3f7', 'default', 'room/1', 'tool', 'memory_store', 1, 0, 0, 0, 0, 0, 145);
INSERT INTO usage (day, conversation, agent, person, kind, name, times, messages, input_tokens, output_tokens, cached_tokens, cost_micros, took_ms) VALUES ('2026-11-23', '01a206da3a237008af4ba72641d2b3f7', 'default', 'room/1', 'tool', 'remind', 1, 0, 0, 0, 0, 0, 25);
INSERT INTO memory_words (rowid, words) SELECT id, content FROM memories;
CREATE INDEX outbox_waiting ON outbox (conversation, seq, part) WHERE status = 'waiting';
CREATE INDEX outbox_of_conversation ON outbox (conversation, seq, part);
CREATE INDEX approvals_due ON approvals (expires_at) WHERE status = 'pending';
CREATE INDEX approvals_pending ON approvals (conversation) WHERE status = 'pending';
CREATE INDEX approvals_shown ON approvals (shown_in) WHERE status = 'pending';
CREATE INDEX approvals_asked ON approvals (conversation, created_at);
CREATE INDEX outbox_of_approval ON outbox (approval) WHERE approval IS NOT NULL;
CREATE INDEX grants_of_owner ON grants (scope, owner) WHERE revoked_at IS NULL;
CREATE INDEX grants_of_approval ON grants (approval);
CREATE INDEX audit_at ON audit (at);
CREATE INDEX audit_unsealed ON audit_heads (chain) WHERE sealed < n;
CREATE INDEX conversations_ready ON conversations (ready_at) WHERE ready_at IS NOT NULL;
CREATE UNIQUE INDEX api_tokens_name ON api_tokens (name) WHERE revoked_at IS NULL;
CREATE INDEX answers_at ON answers (at);
CREATE INDEX outbox_given_up ON outbox (id) WHERE status IN ('refused', 'gone');
CREATE INDEX schedules_due ON schedules (due_at) WHERE status = 'waiting';
CREATE INDEX schedules_of_conversation ON schedules (conversation);
CREATE INDEX conversations_of_root ON conversations (root) WHERE root IS NOT NULL;
CREATE INDEX tasks_of_call ON tasks (parent, call);
CREATE INDEX notices_waiting ON notices (not_before) WHERE status = 'waiting';
CREATE INDEX notices_dead ON notices (id) WHERE status = 'dead';
CREATE INDEX notices_created ON notices (created_at);
COMMIT;
