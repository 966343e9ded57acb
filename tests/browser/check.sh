#!/usr/bin/env bash
# Starts the gateway with its demo model and walks through the web chat and the console in a real
# browser. The pictures go to FOLDER, if one is named.
# Usage: tests/browser/check.sh [FOLDER]
set -euo pipefail
cd "$(dirname "$0")/../.."
binary=$(realpath "${CARGO_TARGET_DIR:-target}/debug/countersign")
scratch=$(mktemp -d)
gateway=
trap '[ -z "$gateway" ] || kill "$gateway" 2>/dev/null; rm -rf "$scratch"' EXIT
out=$(realpath -m "${1:-$scratch}")
mkdir -p "$out"

cp tests/browser/*.mjs "$scratch/"
(cd "$scratch" && PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm install --silent --no-audit --no-fund playwright-core axe-core)

# A gateway of its own for each, and the token of its sign-in link.
begin() {
    [ -z "$gateway" ] || kill "$gateway"
    mkdir "$scratch/$1"
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    (cd "$scratch/$1" && COUNTERSIGN__ADMIN__LISTEN=127.0.0.1:$port exec "$binary" >"$scratch/$1.out" 2>"$scratch/$1.log") &
    gateway=$!
    for _ in $(seq 100); do
        grep -q 'token=' "$scratch/$1.out" 2>/dev/null && break
        sleep 0.1
    done
    token=$(sed -n 's/.*token=//p' "$scratch/$1.out")
    [ -n "$token" ] || { cat "$scratch/$1.log" >&2; exit 1; }
}

# Prints what the gateway has logged, if the script fails.
walk() { (cd "$scratch" && node "$@") || { tail "$scratch"/*.log >&2; exit 1; }; }

begin chat
walk web_chat.mjs "http://127.0.0.1:$port" "$token" "$out/web-chat.png"
begin console
walk console.mjs "http://127.0.0.1:$port" "$token" "$scratch/console/data/countersign.db" "$out/console.png"
