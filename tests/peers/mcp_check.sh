#!/bin/sh
# Uses the Model Context Protocol's own servers (npm server-everything, server-filesystem) as agents
# do: every kind of content, progress, faults, over stdio and HTTP. Needs Node.js.
# Usage: tests/peers/mcp_check.sh
set -eu
. "$(dirname "$0")/common.sh"
COUNTERSIGN_TEST_MCP=$(target_dir)/npm/mcp
mkdir -p "$COUNTERSIGN_TEST_MCP"
(cd "$COUNTERSIGN_TEST_MCP" && npm install --silent --no-audit --no-fund --no-save \
    @modelcontextprotocol/server-everything@2026.8.31 \
    @modelcontextprotocol/server-filesystem@2026.8.31)
export COUNTERSIGN_TEST_MCP
cargo nextest run --workspace --all-features --all-targets --locked --run-ignored only \
    -E 'test(the_reference_server)'
