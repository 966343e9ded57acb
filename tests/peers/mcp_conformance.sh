#!/bin/sh
# Runs the official conformance suite of the Model Context Protocol (npm
# @modelcontextprotocol/conformance) over all its scenarios for clients, and prints the result of
# each one. Ends with 1 if one failed that docs/development/mcp-conformance.md does not answer. Needs
# Node.js.
# Usage: tests/peers/mcp_conformance.sh
set -eu
. "$(dirname "$0")/common.sh"
# The scenarios that docs/development/mcp-conformance.md answers with a clause.
answered="auth/2025-03-26-oauth-metadata-backcompat auth/cross-app-access-complete-flow"
folder=$(target_dir)/npm/conformance
mkdir -p "$folder"
# The suite needs Node.js 22; the package `node` is that program.
(cd "$folder" && npm install --silent --no-audit --no-fund --no-save node@22 \
    @modelcontextprotocol/conformance@0.1.16)
node=$folder/node_modules/node/bin/node
suite=$folder/node_modules/@modelcontextprotocol/conformance/dist/index.js

tests=${COUNTERSIGN_TEST_BINARY:-$(cargo nextest list --workspace --all-features --all-targets \
    --locked --list-type binaries-only --message-format json | python3 -c '
import json, sys
print(json.load(sys.stdin)["rust-binaries"]["countersign"]["binary-path"])')}
cat >"$scratch/client" <<SH
#!/bin/sh
COUNTERSIGN_TEST_MCP_URL=\$1 exec "$tests" --ignored --exact --nocapture \\
    tools::mcp::conformance_tests::the_client_of_the_conformance_suite
SH
chmod +x "$scratch/client"

"$node" "$suite" list | sed -n '/^Client scenarios/,$s/^  - \([^ ]*\).*/\1/p' >"$scratch/scenarios"
while read -r scenario; do
    result=passed
    (cd "$scratch" && "$node" "$suite" client --command "$scratch/client" --scenario "$scenario" \
        >"$scratch/said" 2>&1) || result=failed
    case " $answered " in
        *" $scenario "*) [ "$result" = passed ] || result="answered" ;;
    esac
    echo "$scenario: $result"
    if [ -n "${VERBOSE:-}" ] && [ "$result" != passed ]; then
        cat "$scratch/said" >&2
    fi
done <"$scratch/scenarios" >"$scratch/results"
cat "$scratch/results"
! grep -q ': failed$' "$scratch/results"
