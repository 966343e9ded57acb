#!/bin/sh
# Uses the Model Context Protocol's own servers (npm server-everything, server-filesystem) as agents
# do: every kind of content, progress, faults, over stdio and HTTP. Needs Node.js.
# Usage: tests/peers/mcp_check.sh [FOLDER]   (where npm puts them; made if it is not there)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-${TMPDIR:-/tmp}/countersign-mcp-peers}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
cd "$folder"
npm install --silent --no-audit --no-fund --no-save \
    @modelcontextprotocol/server-everything@2026.8.31 \
    @modelcontextprotocol/server-filesystem@2026.8.31

cd "$here/../.."
select="--workspace --all-features --all-targets --locked"
export COUNTERSIGN_TEST_MCP="$folder"
if cargo nextest --version >/dev/null 2>&1; then
    # shellcheck disable=SC2086
    cargo nextest run $select -E 'test(other_peoples_server)'
else
    # shellcheck disable=SC2086
    cargo test $select other_peoples_server
fi
