-- When a server last offered a tool (NULL: not since this migration), and when a change of its
-- definition was last recorded in the audit. Nodes of the previous release leave both NULL.

ALTER TABLE mcp_tools ADD COLUMN seen_at BIGINT;
ALTER TABLE mcp_tools ADD COLUMN audited_at BIGINT;
CREATE INDEX mcp_tools_by_seen ON mcp_tools (seen_at);
