#!/usr/bin/env bash
# Starts the gateway with its demo model and walks through the web chat in a real browser.
# Usage: tests/browser/check.sh [OUT.png]
set -euo pipefail
cd "$(dirname "$0")/../.."
binary=$(realpath "${CARGO_TARGET_DIR:-target}/debug/countersign")
scratch=$(mktemp -d)
gateway=
trap '[ -z "$gateway" ] || kill "$gateway" 2>/dev/null; rm -rf "$scratch"' EXIT
out=$(realpath -m "${1:-$scratch/web-chat.png}")

cp tests/browser/web_chat.mjs "$scratch/"
(cd "$scratch" && PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm install --silent --no-audit --no-fund playwright-core)
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
(cd "$scratch" && COUNTERSIGN__ADMIN__LISTEN=127.0.0.1:$port exec "$binary" >"$scratch/out" 2>"$scratch/log") &
gateway=$!
for _ in $(seq 100); do
    grep -q 'token=' "$scratch/out" 2>/dev/null && break
    sleep 0.1
done
token=$(sed -n 's/.*token=//p' "$scratch/out")
[ -n "$token" ] || { cat "$scratch/log" >&2; exit 1; }
(cd "$scratch" && node web_chat.mjs "http://127.0.0.1:$port" "$token" "$out") || { tail "$scratch/log" >&2; exit 1; }
