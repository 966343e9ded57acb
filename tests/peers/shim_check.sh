#!/bin/sh
# One main job of the whole program, through a proxy that holds every request against the Bot API's
# schema as aiogram keeps it. Ends with 1, and says what was wrong, if there was anything.
# Usage: tests/peers/shim_check.sh [VENV]   (a virtual environment; made if it is not there)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
venv=${1:-${TMPDIR:-/tmp}/countersign-telegram-peers}
scratch=$(mktemp -d)
proxy=
cleanup() {
    [ -z "$proxy" ] || kill "$proxy" 2>/dev/null || :
    rm -rf "$scratch"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

stamp=$venv/requirements.installed
if ! cmp -s "$here/requirements.txt" "$stamp"; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
    cp "$here/requirements.txt" "$stamp"
fi

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
upstream=$(free_port)
port=$(free_port)
"$venv/bin/python" "$here/tg_shim.py" "$port" "http://127.0.0.1:$upstream" --strict >"$scratch/proxy" 2>&1 &
proxy=$!
tries=0
until python3 -c "import socket; socket.create_connection(('127.0.0.1', $port), 1)" 2>/dev/null; do
    tries=$((tries + 1))
    [ "$tries" -lt 300 ] || { echo "the proxy did not start:" >&2; cat "$scratch/proxy" >&2; exit 1; }
    sleep 0.2
done

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
