#!/bin/sh
# Holds webhooks, in and out, against the reference library of Standard Webhooks (PyPI
# standardwebhooks): what it signs we take, what we sign it verifies.
# Usage: tests/peers/webhooks_check.sh [VENV]   (a virtual environment; made if it is not there)
set -eu
. "$(dirname "$0")/common.sh"
venv=${1:-${TMPDIR:-/tmp}/countersign-webhooks-peers}
environment "$venv" "$here/requirements-webhooks.txt"

cd "$here/../.."
cargo build --quiet --workspace --all-features --all-targets --locked
binary=$(realpath "${CARGO_TARGET_DIR:-target}/debug/countersign")
"$venv/bin/python" "$here/webhooks_check.py" "$binary" "$scratch" "$(free_port)" "$(free_port)"
