#!/bin/sh
# One main job of the whole program, and the suite that every channel runs, through a proxy that holds
# every request against the Bot API's schema as aiogram keeps it. Ends with 1, and says what was wrong, if there was anything.
# Usage: tests/peers/shim_check.sh
set -eu
. "$(dirname "$0")/common.sh"
venv=$(python_with tests/peers/requirements.txt)
start_proxy

# The platform is the fake of the tests, on the port behind the proxy: people who write and press are
# a part of it, so it lives in the test that plays the job.
if COUNTERSIGN_FAKE_PORT=$upstream COUNTERSIGN_PROXY_URL=http://127.0.0.1:$port \
    timeout 300 cargo test --quiet --workspace --all-features --locked --test it -- \
    --ignored --exact end_to_end::telegram::every_request_of_a_job_is_what_the_official_schema_wants \
    >"$scratch/said" 2>&1; then
    echo "every request of the job is as the schema wants it"
else
    cat "$scratch/said" >&2
    echo "the proxy said:" >&2
    tail -n 20 "$scratch/proxy" >&2
    exit 1
fi

# What every channel has to do, item by item, each with a platform of its own on that port.
if COUNTERSIGN_FAKE_PORT=$upstream COUNTERSIGN_PROXY_URL=http://127.0.0.1:$port \
    timeout 300 cargo test --quiet --workspace --all-features --locked --test conforming -- \
    --ignored --test-threads=1 telegram::behind_the_shim >"$scratch/said" 2>&1 &&
    python3 - "$port" >>"$scratch/said" 2>&1 <<'CHECK'
import json, sys, urllib.request
log = json.load(urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/_shim/log"))
# One item repeats an edit whose answer was lost, which the platform then says of it.
odd = lambda call: [p for p in call["problems"] if not p.startswith("message is not modified")]
bad = [call for call in log if odd(call) or call.get("bad_updates")]
print(*bad, sep="\n")
sys.exit(bool(bad) or not log)
CHECK
then
    echo "every channel's items hold behind the proxy"
else
    cat "$scratch/said" >&2
    exit 1
fi
