#!/bin/sh
# Runs the official conformance suite of the Model Context Protocol (npm
# @modelcontextprotocol/conformance) over all its scenarios for clients, and prints the result of
# each one. Ends with 1 if one failed. Needs Node.js.
# Usage: tests/peers/mcp_conformance.sh
set -eu
. "$(dirname "$0")/common.sh"
folder=$(target_dir)/npm/conformance
mkdir -p "$folder"
# The suite needs Node.js 22; the package `node` is that program.
(cd "$folder" && npm install --silent --no-audit --no-fund --no-save node@22 \
    @modelcontextprotocol/conformance@0.1.16)
node=$folder/node_modules/node/bin/node
suite=$folder/node_modules/@modelcontextprotocol/conformance/dist/index.js

tests=${COUNTERSIGN_TEST_BINARY:-$(cargo test --quiet --package countersign --lib --all-features \
    --locked --no-run --message-format json | python3 -c '
import json, sys
for line in sys.stdin:
    found = json.loads(line).get("executable")
    if found:
        print(found)')}
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
    echo "$scenario: $result"
    if [ -n "${VERBOSE:-}" ] && [ "$result" = failed ]; then
        cat "$scratch/said" >&2
    fi
done <"$scratch/scenarios" >"$scratch/results"
cat "$scratch/results"
! grep -q ': failed$' "$scratch/results"
