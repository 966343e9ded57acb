# What the checks by independent clients and servers share. Sourced after `set -eu`; changes to the
# root of the repository.
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cd "$root"
. tests/common.sh
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

# build: everything, with the selection that the tests use; then $target/debug has the programs.
build() {
    cargo build --quiet --workspace --all-features --all-targets --locked
    target=$(target_dir)
}

# until_said FILE TEXT: waits until a program has written that.
until_said() {
    tries=0
    until grep -q "$2" "$1"; do
        tries=$((tries + 1))
        [ "$tries" -lt 300 ] || { echo "this did not start:" >&2; cat "$1" >&2; exit 1; }
        sleep 0.1
    done
}

# start_proxy: a proxy on $port that checks every request against the schema of the Bot API, in front
# of $upstream.
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
