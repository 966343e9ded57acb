# What the checks by other people's clients share. Sourced, after `set -eu`.
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
started=
cleanup() {
    for process in $started; do
        kill "$process" 2>/dev/null || :
    done
    rm -rf "$scratch"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

# environment VENV REQUIREMENTS: a Python of its own, made anew when the list has changed.
environment() {
    if ! cmp -s "$2" "$1/requirements.installed"; then
        python3 -m venv "$1"
        "$1/bin/pip" install --quiet --disable-pip-version-check -r "$2"
        cp "$2" "$1/requirements.installed"
    fi
}

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# until_said FILE TEXT: waits until a program has written that.
until_said() {
    tries=0
    until grep -q "$2" "$1"; do
        tries=$((tries + 1))
        [ "$tries" -lt 50 ] || { echo "this did not start:" >&2; cat "$1" >&2; exit 1; }
        sleep 0.1
    done
}

# start_proxy: holds every request against the Bot API's schema, on $port in front of $upstream.
start_proxy() {
    upstream=$(free_port)
    port=$(free_port)
    "$venv/bin/python" "$here/tg_shim.py" "$port" "http://127.0.0.1:$upstream" --strict >"$scratch/proxy" 2>&1 &
    started="$started $!"
    tries=0
    until python3 -c "import socket; socket.create_connection(('127.0.0.1', $port), 1)" 2>/dev/null; do
        tries=$((tries + 1))
        [ "$tries" -lt 300 ] || { echo "the proxy did not start:" >&2; cat "$scratch/proxy" >&2; exit 1; }
        sleep 0.2
    done
}
