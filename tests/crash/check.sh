#!/usr/bin/env bash
# Kills the gateway at random while people use it, on SQLite and on PostgreSQL, and checks what the
# platform, the model and the tools have seen. Wants the workspace built.
#   tests/crash/check.sh          10 kills on each database
#   tests/crash/check.sh --full   200 kills on each database
set -euo pipefail
cd "$(dirname "$0")/../.."

kills=10
if [ "${1:-}" = --full ]; then
    kills=200
fi
programs="${CARGO_TARGET_DIR:-target}/debug"
"$programs/crash-test" --kills "$kills" --binary "$programs/countersign"
