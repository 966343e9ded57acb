#!/usr/bin/env bash
# Kills the gateway at random while people use it, on SQLite and on PostgreSQL, and checks what the
# platform, the model and the tools have seen. Wants the workspace built.
#   tests/crash/check.sh          10 kills on each database
#   tests/crash/check.sh --full   200 kills on each database
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/common.sh

kills=10
if [ "${1:-}" = --full ]; then
    kills=200
fi
need postgresql
programs=$(target_dir)/debug
"$programs/crash-test" --kills "$kills" --binary "$programs/countersign"
