#!/bin/sh
# One main job of the whole program, through a proxy that holds every request against the Bot API's
# schema as aiogram keeps it. Ends with 1, and says what was wrong, if there was anything.
# Usage: tests/peers/shim_check.sh [VENV]   (a virtual environment; made if it is not there)
set -eu
. "$(dirname "$0")/common.sh"
venv=${1:-${TMPDIR:-/tmp}/countersign-telegram-peers}
environment "$venv" "$here/requirements.txt"
start_proxy

# The platform is the fake of the tests, on the port behind the proxy: people who write and press are
# a part of it, so it lives in the test that plays the job.
cd "$here/../.."
if COUNTERSIGN_FAKE_PORT=$upstream COUNTERSIGN_PROXY_URL=http://127.0.0.1:$port \
    timeout 300 cargo test --quiet --workspace --all-features --locked --test it -- \
    --ignored --exact wires::every_request_of_a_job_is_what_the_official_schema_wants \
    >"$scratch/said" 2>&1; then
    echo "every request of the job is as the schema wants it"
else
    cat "$scratch/said" >&2
    echo "the proxy said:" >&2
    tail -n 20 "$scratch/proxy" >&2
    exit 1
fi
