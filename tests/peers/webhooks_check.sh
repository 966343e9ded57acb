#!/bin/sh
# Holds webhooks, in and out, against the reference library of Standard Webhooks (PyPI
# standardwebhooks): what it signs we take, what we sign it verifies.
# Usage: tests/peers/webhooks_check.sh
set -eu
. "$(dirname "$0")/common.sh"
venv=$(python_with tests/peers/requirements-webhooks.txt)

build
binary=$target/debug/countersign
"$venv/bin/python" "$here/webhooks_check.py" "$binary" "$scratch" "$(free_port)" "$(free_port)"
