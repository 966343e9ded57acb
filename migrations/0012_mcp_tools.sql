-- What MCP servers have said about their tools.

-- `definition` is what a tool was when it was first seen, or when an operator answered for it, as
-- canonical JSON; `offered` is what its server says now, where that is something else: the tool is
-- withheld then. `vouched_by` is empty until somebody has answered for it.
CREATE TABLE mcp_tools (
    server TEXT NOT NULL,
    tool TEXT NOT NULL,
    definition TEXT NOT NULL,
    offered TEXT,
    vouched_by TEXT NOT NULL,
    changed_at BIGINT NOT NULL,
    PRIMARY KEY (server, tool)
);
