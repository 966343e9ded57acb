#!/bin/sh
# Holds /v1 against the official client of OpenAI for Python (PyPI openai): dialogues, streams, models,
# errors, and forty requests at once.
# Usage: tests/peers/completions_check.sh
set -eu
. "$(dirname "$0")/common.sh"
venv=$(python_with tests/peers/requirements-completions.txt)

build
binary=$target/debug/countersign
"$venv/bin/python" "$here/completions_check.py" "$binary" "$scratch" "$(free_port)"
