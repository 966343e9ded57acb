-- A PostgreSQL database of the release 3e20d08, with a question open: see tests/it/store/releases.rs.
CREATE TABLE public._sqlx_migrations (
    version bigint NOT NULL,
    description text NOT NULL,
    installed_on timestamp with time zone DEFAULT now() NOT NULL,
    success boolean NOT NULL,
    checksum bytea NOT NULL,
    execution_time bigint NOT NULL
);
CREATE TABLE public.access_tokens (
    hash text NOT NULL,
    name text NOT NULL,
    kind text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    shown text,
    claims text
);
CREATE TABLE public.answers (
    caller text NOT NULL,
    name text NOT NULL,
    request text NOT NULL,
    status bigint,
    media_type text NOT NULL,
    body text NOT NULL,
    at bigint NOT NULL
);
CREATE TABLE public.api_tokens (
    id text NOT NULL,
    hash text NOT NULL,
    name text NOT NULL,
    role text NOT NULL,
    created_by text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint,
    used_at bigint,
    revoked_at bigint,
    revoked_by text
);
CREATE TABLE public.approval_tokens (
    hash text NOT NULL,
    approval text NOT NULL
);
CREATE TABLE public.approvals (
    id text NOT NULL,
    conversation text NOT NULL,
    call text NOT NULL,
    asks text NOT NULL,
    tool text NOT NULL,
    arguments text NOT NULL,
    digest text NOT NULL,
    title text NOT NULL,
    requester text NOT NULL,
    question text NOT NULL,
    status text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    decided_at bigint,
    decided_by text,
    approvers text DEFAULT '"requester"'::text NOT NULL,
    offers text DEFAULT 'acdrse'::text NOT NULL,
    proposal text,
    shown_in text DEFAULT ''::text NOT NULL
);
CREATE TABLE public.audit (
    chain text NOT NULL,
    n bigint NOT NULL,
    at bigint NOT NULL,
    kind text NOT NULL,
    person text NOT NULL,
    tool text NOT NULL,
    body text NOT NULL,
    hash text NOT NULL
);
CREATE TABLE public.audit_heads (
    chain text NOT NULL,
    n bigint NOT NULL,
    hash text NOT NULL,
    sealed bigint NOT NULL
);
CREATE TABLE public.channel_states (
    channel text NOT NULL,
    is_up boolean NOT NULL,
    since bigint NOT NULL
);
CREATE TABLE public.conversations (
    id text NOT NULL,
    channel text NOT NULL,
    chat text NOT NULL,
    thread text NOT NULL,
    place text NOT NULL,
    last_seq bigint NOT NULL,
    ready_at bigint,
    lease_node text NOT NULL,
    lease_until bigint NOT NULL,
    fence bigint NOT NULL,
    created_at bigint NOT NULL,
    language text DEFAULT ''::text NOT NULL,
    not_before bigint DEFAULT 0 NOT NULL,
    person text DEFAULT ''::text NOT NULL,
    agent text,
    root text,
    depth bigint DEFAULT 0 NOT NULL
);
CREATE TABLE public.deliveries (
    channel text NOT NULL,
    delivery text NOT NULL,
    at bigint NOT NULL
);
CREATE TABLE public.drafts (
    conversation text NOT NULL,
    receipt text NOT NULL
);
CREATE TABLE public.events (
    conversation text NOT NULL,
    seq bigint NOT NULL,
    fence bigint NOT NULL,
    at bigint NOT NULL,
    body text NOT NULL
);
CREATE TABLE public.floods (
    person text NOT NULL,
    even_at bigint NOT NULL,
    refused bigint NOT NULL
);
CREATE TABLE public.grants (
    id text NOT NULL,
    tool text NOT NULL,
    covers text NOT NULL,
    scope text NOT NULL,
    owner text NOT NULL,
    approval text NOT NULL,
    given_by text NOT NULL,
    given_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    uses_left bigint,
    revoked_at bigint,
    revoked_by text
);
CREATE TABLE public.guard_rules (
    name text NOT NULL,
    place bigint NOT NULL,
    body text NOT NULL,
    changed_by text NOT NULL,
    changed_at bigint NOT NULL
);
CREATE TABLE public.guard_version (
    one bigint NOT NULL,
    version bigint NOT NULL
);
CREATE TABLE public.halts (
    name text NOT NULL,
    by_whom text NOT NULL,
    since bigint NOT NULL
);
CREATE TABLE public.leases (
    name text NOT NULL,
    node text NOT NULL,
    until bigint NOT NULL,
    fence bigint NOT NULL
);
CREATE TABLE public.mcp_tools (
    server text NOT NULL,
    tool text NOT NULL,
    definition text NOT NULL,
    offered text,
    vouched_by text NOT NULL,
    changed_at bigint NOT NULL
);
CREATE TABLE public.memories (
    id bigint NOT NULL,
    agent text NOT NULL,
    shelf text NOT NULL,
    path text NOT NULL,
    content text NOT NULL,
    by_whom text NOT NULL,
    taint text NOT NULL,
    call text NOT NULL,
    changed_at bigint NOT NULL
);
CREATE TABLE public.memory_vectors (
    memory bigint NOT NULL,
    model text NOT NULL,
    vector text NOT NULL
);
CREATE TABLE public.memory_words (
    rowid bigint NOT NULL,
    words tsvector NOT NULL
);
CREATE TABLE public.notice_tries (
    notice text NOT NULL,
    n bigint NOT NULL,
    at bigint NOT NULL,
    status bigint,
    problem text NOT NULL
);
CREATE TABLE public.notices (
    id text NOT NULL,
    subscription text NOT NULL,
    topic text NOT NULL,
    body text NOT NULL,
    status text NOT NULL,
    attempts bigint NOT NULL,
    not_before bigint NOT NULL,
    lease_until bigint NOT NULL,
    created_at bigint NOT NULL
);
CREATE TABLE public.outbox (
    id text NOT NULL,
    conversation text NOT NULL,
    seq bigint NOT NULL,
    part bigint NOT NULL,
    body text NOT NULL,
    edits text,
    status text NOT NULL,
    attempts bigint NOT NULL,
    not_before bigint NOT NULL,
    lease_node text NOT NULL,
    lease_until bigint NOT NULL,
    receipt text,
    problem text,
    created_at bigint NOT NULL,
    sent_at bigint,
    approval text
);
CREATE TABLE public.pairing_failures (
    channel text NOT NULL,
    person text NOT NULL,
    failures bigint NOT NULL,
    last_at bigint NOT NULL
);
CREATE TABLE public.pairings (
    hash text NOT NULL,
    channel text NOT NULL,
    role text NOT NULL,
    expires_at bigint NOT NULL,
    used_by text
);
CREATE TABLE public.parked (
    channel text NOT NULL,
    chat text NOT NULL,
    until bigint NOT NULL
);
CREATE TABLE public.people (
    channel text NOT NULL,
    person text NOT NULL,
    name text NOT NULL,
    role text NOT NULL,
    since bigint NOT NULL
);
CREATE TABLE public.positions (
    channel text NOT NULL,
    "position" text NOT NULL
);
CREATE TABLE public.rates (
    person text NOT NULL,
    tool text NOT NULL,
    calls text NOT NULL,
    last_at bigint NOT NULL
);
CREATE TABLE public.reconnects (
    channel text NOT NULL,
    times bigint NOT NULL
);
CREATE TABLE public.schedules (
    id text NOT NULL,
    conversation text NOT NULL,
    does text NOT NULL,
    text text NOT NULL,
    rule text NOT NULL,
    zone text NOT NULL,
    by_whom text NOT NULL,
    taint text NOT NULL,
    status text NOT NULL,
    due_at bigint NOT NULL,
    created_at bigint NOT NULL,
    changed_at bigint NOT NULL
);
CREATE TABLE public.signing_keys (
    name text NOT NULL,
    secret text NOT NULL
);
CREATE TABLE public.subscriptions (
    name text NOT NULL,
    topics text NOT NULL
);
CREATE TABLE public.tasks (
    conversation text NOT NULL,
    parent text NOT NULL,
    call text NOT NULL,
    place bigint NOT NULL,
    status text NOT NULL,
    answer text
);
CREATE TABLE public.tool_settings (
    kind text NOT NULL,
    name text NOT NULL,
    enabled boolean NOT NULL,
    tier text NOT NULL,
    changed_by text NOT NULL,
    changed_at bigint NOT NULL
);
CREATE TABLE public.tool_version (
    one bigint NOT NULL,
    version bigint NOT NULL
);
CREATE TABLE public.unparsed (
    channel text NOT NULL,
    delivery text NOT NULL,
    at bigint NOT NULL,
    raw text NOT NULL
);
CREATE TABLE public.usage (
    day text NOT NULL,
    conversation text NOT NULL,
    agent text NOT NULL,
    person text NOT NULL,
    kind text NOT NULL,
    name text NOT NULL,
    times bigint NOT NULL,
    messages bigint NOT NULL,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    cached_tokens bigint NOT NULL,
    cost_micros bigint NOT NULL,
    took_ms bigint NOT NULL
);
CREATE TABLE public.votes (
    approval text NOT NULL,
    channel text NOT NULL,
    person text NOT NULL,
    name text NOT NULL,
    at bigint NOT NULL
);
INSERT INTO public._sqlx_migrations VALUES (1, 'first', '2026-05-04 10:00:00+00', true, '\x1af59f499d9748e1007e1329cfbf5d507d656bb70467cf739955ea28e9137de6ec472ac1b2cd463462785f18ee93e2d8', 116784442);
INSERT INTO public._sqlx_migrations VALUES (2, 'positions', '2026-05-04 10:00:00+00', true, '\x4cbf257af403757942f7aa8d9d6e589a9710cdabe512eb12f800800e6bf32a08d330c83e7b3e01cd48f5a424b5f1c4f3', 7194077);
INSERT INTO public._sqlx_migrations VALUES (3, 'approvals', '2026-05-04 10:00:00+00', true, '\x53992548d5276a4989827ed684d614c87934f34ff7c9ccdff7c03e076fa63e9b9c5dc30351107ba1f1d1271f2de04506', 27526881);
INSERT INTO public._sqlx_migrations VALUES (4, 'rules', '2026-05-04 10:00:00+00', true, '\x0e8408eb01cd509538c60a831bfec4ea65832ea2ae17d53bd01bbf3b8bf4ac0e64aa89e2588bb299cdb23faf87799e68', 10716110);
INSERT INTO public._sqlx_migrations VALUES (5, 'limits and audit', '2026-05-04 10:00:00+00', true, '\x8e459af43603a1d64bed5dc38efd69884bb14ed61e3771832bb9207eee1d6886aa4d5f152150ade4d8f379b4db6c6374', 47421392);
INSERT INTO public._sqlx_migrations VALUES (6, 'gateway', '2026-05-04 10:00:00+00', true, '\x262ddbdafcb8bc5c96a5ba1997fa631e69da1cf42be30c36c036e71ceefe83e7e1d63cea356ffd18903e103c2a898763', 13189942);
INSERT INTO public._sqlx_migrations VALUES (7, 'per person', '2026-05-04 10:00:00+00', true, '\xbd082d58a57a9e30cfd4b344c15539511a6ac53645745813ea770246f9f4e71fac199d16ddfe8970bb2769d3feab9126', 2466481);
INSERT INTO public._sqlx_migrations VALUES (8, 'admin', '2026-05-04 10:00:00+00', true, '\x69c5d302e67f17b4c5d52621f878f4131707d7cfcbf303b584550fb56cf0394aab944a74907b243910650f65d9bba5e1', 29354261);
INSERT INTO public._sqlx_migrations VALUES (9, 'memory', '2026-05-04 10:00:00+00', true, '\xbc74a3e9e2ec1d8045c158d4dafed74b0c28ebd2d5e7ac1e7ef9d3ab6118e36333cf319aec997ac66626306e7fe5583e', 19013209);
INSERT INTO public._sqlx_migrations VALUES (10, 'schedules', '2026-05-04 10:00:00+00', true, '\xd8ee9d444da9cf6c989b1d5cffe7fc9c53c400ee0b71ffc6dc04ffa6fdbb31193f70bd1d1e499f231018e3ede56546a6', 12756226);
INSERT INTO public._sqlx_migrations VALUES (11, 'tasks', '2026-05-04 10:00:00+00', true, '\xe892822e19692dcfed81d73444be34e39a484dbbaa82764a4d5ae8bfc68c813b61a58caa28e6f222e8b0d1de1f9d82ed', 14815672);
INSERT INTO public._sqlx_migrations VALUES (12, 'mcp tools', '2026-05-04 10:00:00+00', true, '\x3924763752e298185c390a5d9fa3feaa67640191b8ff09d1aaa8877efb09758f935bbccac92ee25a1d2033ed002257fe', 7714292);
INSERT INTO public._sqlx_migrations VALUES (13, 'operators', '2026-05-04 10:00:00+00', true, '\xfd2a7d5a4dea01cb0f1c778c2228357eacc8fe0500e9b00cd3d2060b80cf499c40948dd744f8fd67f00c754eaa656795', 35471986);
INSERT INTO public._sqlx_migrations VALUES (14, 'memory vectors', '2026-05-04 10:00:00+00', true, '\x97be3613cfae47409c78812fa939340caebabfd2c43e5596ab198063c6ca3777abb207c4399e80632aa4581c070c21af', 7870645);
INSERT INTO public._sqlx_migrations VALUES (15, 'webhooks', '2026-05-04 10:00:00+00', true, '\x5d904a30253e15005f8b44b5d27cb0fc0a57935ec512bd06e661e8ea71dd1fe748fcc4ceead23f3e8f026c9a705958f8', 40991491);
INSERT INTO public._sqlx_migrations VALUES (17, 'sign on', '2026-05-04 10:00:00+00', true, '\x9b491272250d934f3f2474692e9c5380988abdfefbe0ce11982b45af1044d2cdac4954825432d687b43d3e390873b686', 4275134);
INSERT INTO public.approvals VALUES ('01a206da545771ab80ef3f9064a37cb1', '01a206da3a237008af4ba72641d2b3f7', '01a206da542e70fc959777f58d767fbd', '"allow"', 'write_file', '{"path":"notes/buy-honey.md","content":"buy honey\n"}', '0ae4ed9f65788629dbe6bbb531374a1e88af23d5a7c7eb92df8f4b625b801d6a', 'Allow **write\_file**? `notes/buy-honey.md`', '{"id":"1","name":"Ann"}', '01a206da545a70bf882d2db7b3e1c5e4', 'pending', 1795411301465, 1795413101464, NULL, NULL, '"requester"', 'acgdw', '{"below":"notes"}', '01a206da3a237008af4ba72641d2b3f7');
INSERT INTO public.audit VALUES ('01a206da3a237008af4ba72641d2b3f7', 1, 1795411295071, 'ran', 'owner', 'memory_store', '{"call":"01a206da3a9a72f9a1c5181cfb836edf","digest":"376c719df93bddcdd03191167cbd49ad15770401107d0fb24032f3c73a8c30e0","arguments":{"path":"MEMORY.md","content":"I like honey","append":true},"rule":"policy","outcome":"done","took_ms":145}', '471c9d808c6b23f7ec7d133d83ccc04b2a6143b4a3a47b2638ac29c41fb7f533');
INSERT INTO public.audit VALUES ('01a206da3a237008af4ba72641d2b3f7', 2, 1795411297532, 'ran', 'owner', 'remind', '{"call":"01a206da44a677c39e3d0c5e144855cd","digest":"d406f718d6a75f33c7393d612ce8d9dd4d6c9dec19304cb44556dede4b35c871","arguments":{"text":"call Bob","in":"5 minutes"},"rule":"policy","outcome":"done","took_ms":25}', '841402a040ed131aa6cf4c8bdb9a00d1c72c98068d194b59c3d3a32798cc115e');
INSERT INTO public.audit VALUES ('01a206da3a237008af4ba72641d2b3f7', 3, 1795411301465, 'asked', 'owner', 'write_file', '{"call":"01a206da542e70fc959777f58d767fbd","digest":"0ae4ed9f65788629dbe6bbb531374a1e88af23d5a7c7eb92df8f4b625b801d6a","arguments":{"path":"notes/buy-honey.md","content":"buy honey\n"},"rule":"write_file changes something, and no rule allows it.","approval":"01a206da545771ab80ef3f9064a37cb1"}', '30a63c78fd496725094b182f914f83f077cd91a91177741eda49d9a41900951b');
INSERT INTO public.audit_heads VALUES ('01a206da3a237008af4ba72641d2b3f7', 3, '30a63c78fd496725094b182f914f83f077cd91a91177741eda49d9a41900951b', 0);
INSERT INTO public.conversations VALUES ('01a206da3a237008af4ba72641d2b3f7', 'room', '7', '', '{"chat":"7","thread":null,"kind":"private"}', 15, NULL, '01a206da36ab70e7b94fb9a7efe217f3', 0, 3, 1795411294752, '', 1795411301385, '', NULL, NULL, 0);
INSERT INTO public.events VALUES ('01a206da3a237008af4ba72641d2b3f7', 1, 0, 1795411294752, '{"kind":"said","by":{"id":"1","name":"Ann"},"text":"hello","message":"1"}');
INSERT INTO public.events VALUES ('01a206da3a237008af4ba72641d2b3f7', 2, 0, 1795411294774, '{"kind":"said","by":{"id":"1","name":"Ann"},"text":"remember that I like honey","message":"2"}');
INSERT INTO public.events VALUES ('01a206da3a237008af4ba72641d2b3f7', 3, 1, 1795411294875, '{"kind":"replied","text":"","calls":[{"id":"01a206da3a9a72f9a1c5181cfb836edf","model_id":"01a206da3a9a72f9a1c5181cfb836edf","tool":"memory_store","arguments":{"path":"MEMORY.md","content":"I like honey","append":true}}],"upto":2,"usage":{"input_tokens":149,"output_tokens":0,"cached_tokens":0}}');
INSERT INTO public.events VALUES ('01a206da3a237008af4ba72641d2b3f7', 4, 1, 1795411295071, '{"kind":"tool_finished","call":"01a206da3a9a72f9a1c5181cfb836edf","result":{"outcome":"done","text":"MEMORY.md is kept (12 of 65536 bytes).","took_ms":145}}');
INSERT INTO public.events VALUES ('01a206da3a237008af4ba72641d2b3f7', 5, 1, 1795411295249, '{"kind":"replied","text":"`memory_store` says:\n\n```\nMEMORY.md is kept (12 of 65536 bytes).\n```\n\n— demo model: a rule-based stand-in, not an AI. Set OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY or OLLAMA_HOST for a real one.","calls":[],"upto":4,"usage":{"input_tokens":159,"output_tokens":51,"cached_tokens":0}}');
INSERT INTO public.events VALUES ('01a206da3a237008af4ba72641d2b3f7', 6, 0, 1795411297379, '{"kind":"said","by":{"id":"1","name":"Ann"},"text":"remind me in 5 minutes to call Bob","message":"3"}');
INSERT INTO public.events VALUES ('01a206da3a237008af4ba72641d2b3f7', 7, 2, 1795411297397, '{"kind":"replied","text":"","calls":[{"id":"01a206da44747570a54c00fbc94a6d19","model_id":"01a206da44747570a54c00fbc94a6d19","tool":"enable_tool","arguments":{"names":["remind"]}}],"upto":6,"usage":{"input_tokens":218,"output_tokens":0,"cached_tokens":0}}');
INSERT INTO public.events VALUES ('01a206da3a237008af4ba72641d2b3f7', 8, 2, 1795411297414, '{"kind":"tools_enabled","names":["remind"]}');
INSERT INTO public.events VALUES ('01a206da3a237008af4ba72641d2b3f7', 9, 2, 1795411297414, '{"kind":"tool_finished","call":"01a206da44747570a54c00fbc94a6d19","result":{"outcome":"done","text":"Enabled for this conversation: remind.","took_ms":0}}');
INSERT INTO public.events VALUES ('01a206da3a237008af4ba72641d2b3f7', 10, 2, 1795411297446, '{"kind":"replied","text":"","calls":[{"id":"01a206da44a677c39e3d0c5e144855cd","model_id":"01a206da44a677c39e3d0c5e144855cd","tool":"remind","arguments":{"text":"call Bob","in":"5 minutes"}}],"upto":9,"usage":{"input_tokens":228,"output_tokens":0,"cached_tokens":0}}');
INSERT INTO public.events VALUES ('01a206da3a237008af4ba72641d2b3f7', 11, 2, 1795411297532, '{"kind":"tool_finished","call":"01a206da44a677c39e3d0c5e144855cd","result":{"outcome":"done","text":"144855cd: reminder \"call Bob\" of owner, next Monday 2026-11-23 05:26:37 (UTC, UTC+00:00), once","took_ms":25}}');
INSERT INTO public.events VALUES ('01a206da3a237008af4ba72641d2b3f7', 12, 2, 1795411297554, '{"kind":"replied","text":"`remind` says:\n\n```\n144855cd: reminder \"call Bob\" of owner, next Monday 2026-11-23 05:26:37 (UTC, UTC+00:00), once\n```\n\n— demo model: a rule-based stand-in, not an AI. Set OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY or OLLAMA_HOST for a real one.","calls":[],"upto":11,"usage":{"input_tokens":251,"output_tokens":63,"cached_tokens":0}}');
INSERT INTO public.events VALUES ('01a206da3a237008af4ba72641d2b3f7', 13, 0, 1795411301385, '{"kind":"said","by":{"id":"1","name":"Ann"},"text":"save a note: buy honey","message":"4"}');
INSERT INTO public.events VALUES ('01a206da3a237008af4ba72641d2b3f7', 14, 3, 1795411301423, '{"kind":"replied","text":"","calls":[{"id":"01a206da542e70fc959777f58d767fbd","model_id":"01a206da542e70fc959777f58d767fbd","tool":"write_file","arguments":{"path":"notes/buy-honey.md","content":"buy honey\n"}}],"upto":13,"usage":{"input_tokens":320,"output_tokens":0,"cached_tokens":0}}');
INSERT INTO public.events VALUES ('01a206da3a237008af4ba72641d2b3f7', 15, 3, 1795411301465, '{"kind":"approval_asked","approval":"01a206da545771ab80ef3f9064a37cb1","call":"01a206da542e70fc959777f58d767fbd","digest":"0ae4ed9f65788629dbe6bbb531374a1e88af23d5a7c7eb92df8f4b625b801d6a","asks":"allow"}');
INSERT INTO public.floods VALUES ('room/1', 1795411303385, 0);
INSERT INTO public.guard_version VALUES (1, 0);
INSERT INTO public.memories VALUES (2634651503938020594, 'default', 'room/7', 'MEMORY.md', 'I like honey', '{"id":"1","name":"Ann"}', '[]', '01a206da3a9a72f9a1c5181cfb836edf', 1795411294914);
INSERT INTO public.outbox VALUES ('01a206da3c147489adeda19a7320b462', '01a206da3a237008af4ba72641d2b3f7', 5, 0, '{"kind":"text","markdown":"`memory_store` says:\n\n```\nMEMORY.md is kept (12 of 65536 bytes).\n```\n\n— demo model: a rule-based stand-in, not an AI. Set OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY or OLLAMA_HOST for a real one.","reply_to":null}', NULL, 'sent', 1, 0, '01a206da36ab70e7b94fb9a7efe217f3', 0, '{"message":"01a206da3c147489adeda19a7320b462"}', '', 1795411295249, 1795411295352, NULL);
INSERT INTO public.outbox VALUES ('01a206da451573768ab2fd16b4bc2f09', '01a206da3a237008af4ba72641d2b3f7', 12, 0, '{"kind":"text","markdown":"`remind` says:\n\n```\n144855cd: reminder \"call Bob\" of owner, next Monday 2026-11-23 05:26:37 (UTC, UTC+00:00), once\n```\n\n— demo model: a rule-based stand-in, not an AI. Set OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY or OLLAMA_HOST for a real one.","reply_to":null}', NULL, 'sent', 1, 0, '01a206da36ab70e7b94fb9a7efe217f3', 0, '{"message":"01a206da451573768ab2fd16b4bc2f09"}', '', 1795411297554, 1795411297632, NULL);
INSERT INTO public.outbox VALUES ('01a206da545a70bf882d2db7b3e1c5e4', '01a206da3a237008af4ba72641d2b3f7', 15, 0, '{"kind":"text","markdown":"Allow **write\\_file**?\nWrites a file of the workspace\\: makes it\\, or replaces all of it\\. Use apply\\_patch to change a part of a file\\.\n\npath: `notes/buy-honey.md`\ncontent: 10 characters, SHA-256 `9d0af1eccd1f62d8…`, see below\n\n```\nbuy honey\n```\n\nwrite\\_file changes something\\, and no rule allows it\\.\nAsked for by owner. Open until 2026-11-23 05:51 UTC, code `64a37cb1`.\n\nTo answer, type:\n\n- Allow once: `/allow 64a37cb1`\n- Allow in this conversation: `/here 64a37cb1`\n- Always…: `/always 64a37cb1`\n- Deny: `/deny 64a37cb1`\n","reply_to":null}', NULL, 'sent', 1, 0, '01a206da36ab70e7b94fb9a7efe217f3', 0, '{"message":"01a206da545a70bf882d2db7b3e1c5e4"}', '', 1795411301465, 1795411301533, '01a206da545771ab80ef3f9064a37cb1');
INSERT INTO public.rates VALUES ('room/1', 'memory_store', '1795411295071', 1795411295071);
INSERT INTO public.rates VALUES ('room/1', 'remind', '1795411297532', 1795411297532);
INSERT INTO public.schedules VALUES ('01a206da44a677c39e3d0c5e144855cd', '01a206da3a237008af4ba72641d2b3f7', 'remind', 'call Bob', '"once"', 'UTC', '{"id":"1","name":"Ann"}', '[]', 'waiting', 1795411597502, 1795411297502, 1795411297502);
INSERT INTO public.tool_version VALUES (1, 0);
INSERT INTO public.usage VALUES ('2026-11-23', '01a206da3a237008af4ba72641d2b3f7', 'default', 'room/1', 'model', 'main', 6, 4, 1325, 114, 0, 0, 0);
INSERT INTO public.usage VALUES ('2026-11-23', '01a206da3a237008af4ba72641d2b3f7', 'default', 'room/1', 'tool', 'memory_store', 1, 0, 0, 0, 0, 0, 145);
INSERT INTO public.usage VALUES ('2026-11-23', '01a206da3a237008af4ba72641d2b3f7', 'default', 'room/1', 'tool', 'remind', 1, 0, 0, 0, 0, 0, 25);
ALTER TABLE ONLY public._sqlx_migrations
    ADD CONSTRAINT _sqlx_migrations_pkey PRIMARY KEY (version);
ALTER TABLE ONLY public.access_tokens
    ADD CONSTRAINT access_tokens_pkey PRIMARY KEY (hash);
ALTER TABLE ONLY public.answers
    ADD CONSTRAINT answers_pkey PRIMARY KEY (caller, name);
ALTER TABLE ONLY public.api_tokens
    ADD CONSTRAINT api_tokens_hash_key UNIQUE (hash);
ALTER TABLE ONLY public.api_tokens
    ADD CONSTRAINT api_tokens_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.approval_tokens
    ADD CONSTRAINT approval_tokens_pkey PRIMARY KEY (hash);
ALTER TABLE ONLY public.approvals
    ADD CONSTRAINT approvals_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.audit_heads
    ADD CONSTRAINT audit_heads_pkey PRIMARY KEY (chain);
ALTER TABLE ONLY public.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (chain, n);
ALTER TABLE ONLY public.channel_states
    ADD CONSTRAINT channel_states_pkey PRIMARY KEY (channel);
ALTER TABLE ONLY public.conversations
    ADD CONSTRAINT conversations_channel_chat_thread_person_key UNIQUE (channel, chat, thread, person);
ALTER TABLE ONLY public.conversations
    ADD CONSTRAINT conversations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.deliveries
    ADD CONSTRAINT deliveries_pkey PRIMARY KEY (channel, delivery);
ALTER TABLE ONLY public.drafts
    ADD CONSTRAINT drafts_pkey PRIMARY KEY (conversation);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (conversation, seq);
ALTER TABLE ONLY public.floods
    ADD CONSTRAINT floods_pkey PRIMARY KEY (person);
ALTER TABLE ONLY public.grants
    ADD CONSTRAINT grants_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.guard_rules
    ADD CONSTRAINT guard_rules_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.guard_version
    ADD CONSTRAINT guard_version_pkey PRIMARY KEY (one);
ALTER TABLE ONLY public.halts
    ADD CONSTRAINT halts_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.leases
    ADD CONSTRAINT leases_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.mcp_tools
    ADD CONSTRAINT mcp_tools_pkey PRIMARY KEY (server, tool);
ALTER TABLE ONLY public.memories
    ADD CONSTRAINT memories_agent_shelf_path_key UNIQUE (agent, shelf, path);
ALTER TABLE ONLY public.memories
    ADD CONSTRAINT memories_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memory_vectors
    ADD CONSTRAINT memory_vectors_pkey PRIMARY KEY (memory, model);
ALTER TABLE ONLY public.memory_words
    ADD CONSTRAINT memory_words_pkey PRIMARY KEY (rowid);
ALTER TABLE ONLY public.notice_tries
    ADD CONSTRAINT notice_tries_pkey PRIMARY KEY (notice, n);
ALTER TABLE ONLY public.notices
    ADD CONSTRAINT notices_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.outbox
    ADD CONSTRAINT outbox_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.pairing_failures
    ADD CONSTRAINT pairing_failures_pkey PRIMARY KEY (channel, person);
ALTER TABLE ONLY public.pairings
    ADD CONSTRAINT pairings_pkey PRIMARY KEY (hash);
ALTER TABLE ONLY public.parked
    ADD CONSTRAINT parked_pkey PRIMARY KEY (channel, chat);
ALTER TABLE ONLY public.people
    ADD CONSTRAINT people_pkey PRIMARY KEY (channel, person);
ALTER TABLE ONLY public.positions
    ADD CONSTRAINT positions_pkey PRIMARY KEY (channel);
ALTER TABLE ONLY public.rates
    ADD CONSTRAINT rates_pkey PRIMARY KEY (person, tool);
ALTER TABLE ONLY public.reconnects
    ADD CONSTRAINT reconnects_pkey PRIMARY KEY (channel);
ALTER TABLE ONLY public.schedules
    ADD CONSTRAINT schedules_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.signing_keys
    ADD CONSTRAINT signing_keys_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.subscriptions
    ADD CONSTRAINT subscriptions_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.tasks
    ADD CONSTRAINT tasks_pkey PRIMARY KEY (conversation);
ALTER TABLE ONLY public.tool_settings
    ADD CONSTRAINT tool_settings_pkey PRIMARY KEY (kind, name);
ALTER TABLE ONLY public.tool_version
    ADD CONSTRAINT tool_version_pkey PRIMARY KEY (one);
ALTER TABLE ONLY public.unparsed
    ADD CONSTRAINT unparsed_pkey PRIMARY KEY (channel, delivery);
ALTER TABLE ONLY public.usage
    ADD CONSTRAINT usage_by_agent_pkey PRIMARY KEY (day, conversation, agent, person, kind, name);
ALTER TABLE ONLY public.votes
    ADD CONSTRAINT votes_pkey PRIMARY KEY (approval, channel, person);
CREATE INDEX answers_at ON public.answers USING btree (at);
CREATE UNIQUE INDEX api_tokens_name ON public.api_tokens USING btree (name) WHERE (revoked_at IS NULL);
CREATE INDEX approvals_asked ON public.approvals USING btree (conversation, created_at);
CREATE INDEX approvals_due ON public.approvals USING btree (expires_at) WHERE (status = 'pending'::text);
CREATE INDEX approvals_pending ON public.approvals USING btree (conversation) WHERE (status = 'pending'::text);
CREATE INDEX approvals_shown ON public.approvals USING btree (shown_in) WHERE (status = 'pending'::text);
CREATE INDEX audit_at ON public.audit USING btree (at);
CREATE INDEX audit_unsealed ON public.audit_heads USING btree (chain) WHERE (sealed < n);
CREATE INDEX conversations_of_root ON public.conversations USING btree (root) WHERE (root IS NOT NULL);
CREATE INDEX conversations_ready ON public.conversations USING btree (ready_at) WHERE (ready_at IS NOT NULL);
CREATE INDEX grants_of_approval ON public.grants USING btree (approval);
CREATE INDEX grants_of_owner ON public.grants USING btree (scope, owner) WHERE (revoked_at IS NULL);
CREATE INDEX memory_words_words ON public.memory_words USING gin (words);
CREATE INDEX notices_created ON public.notices USING btree (created_at);
CREATE INDEX notices_dead ON public.notices USING btree (id) WHERE (status = 'dead'::text);
CREATE INDEX notices_waiting ON public.notices USING btree (not_before) WHERE (status = 'waiting'::text);
CREATE INDEX outbox_given_up ON public.outbox USING btree (id) WHERE (status = ANY (ARRAY['refused'::text, 'gone'::text]));
CREATE INDEX outbox_of_approval ON public.outbox USING btree (approval) WHERE (approval IS NOT NULL);
CREATE INDEX outbox_of_conversation ON public.outbox USING btree (conversation, seq, part);
CREATE INDEX outbox_waiting ON public.outbox USING btree (conversation, seq, part) WHERE (status = 'waiting'::text);
CREATE INDEX schedules_due ON public.schedules USING btree (due_at) WHERE (status = 'waiting'::text);
CREATE INDEX schedules_of_conversation ON public.schedules USING btree (conversation);
CREATE INDEX tasks_of_call ON public.tasks USING btree (parent, call);
ALTER TABLE ONLY public.approval_tokens
    ADD CONSTRAINT approval_tokens_approval_fkey FOREIGN KEY (approval) REFERENCES public.approvals(id);
ALTER TABLE ONLY public.approvals
    ADD CONSTRAINT approvals_conversation_fkey FOREIGN KEY (conversation) REFERENCES public.conversations(id);
ALTER TABLE ONLY public.drafts
    ADD CONSTRAINT drafts_conversation_fkey FOREIGN KEY (conversation) REFERENCES public.conversations(id);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_conversation_fkey FOREIGN KEY (conversation) REFERENCES public.conversations(id);
ALTER TABLE ONLY public.notice_tries
    ADD CONSTRAINT notice_tries_notice_fkey FOREIGN KEY (notice) REFERENCES public.notices(id);
ALTER TABLE ONLY public.outbox
    ADD CONSTRAINT outbox_conversation_fkey FOREIGN KEY (conversation) REFERENCES public.conversations(id);
ALTER TABLE ONLY public.schedules
    ADD CONSTRAINT schedules_conversation_fkey FOREIGN KEY (conversation) REFERENCES public.conversations(id);
ALTER TABLE ONLY public.tasks
    ADD CONSTRAINT tasks_conversation_fkey FOREIGN KEY (conversation) REFERENCES public.conversations(id);
ALTER TABLE ONLY public.tasks
    ADD CONSTRAINT tasks_parent_fkey FOREIGN KEY (parent) REFERENCES public.conversations(id);
ALTER TABLE ONLY public.votes
    ADD CONSTRAINT votes_approval_fkey FOREIGN KEY (approval) REFERENCES public.approvals(id);
