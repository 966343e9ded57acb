#!/usr/bin/env bash
# Measures the gateway next to a loop without an agent, and compares the ratios with those in
# tests/bench/baseline.json. Builds the release first.
#   tests/bench/check.sh
#   tests/bench/check.sh --update   writes the baseline instead
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/common.sh

action=check
if [ "${1:-}" = --update ]; then
    action=baseline
fi
cargo build --quiet --release --workspace --all-features --bins --locked
programs=$(target_dir)/release
"$programs/bench-turns" "$programs/countersign" "$action" tests/bench/baseline.json
