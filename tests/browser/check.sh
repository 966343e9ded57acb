#!/usr/bin/env bash
# Starts the gateway with its demo model and walks through the web chat, its notifications, the console
# and a page of another site in a real browser. The pictures go to FOLDER, if one is named.
# Usage: tests/browser/check.sh [FOLDER]
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/common.sh
cargo build --quiet --workspace --all-features --all-targets --locked
binary=$(target_dir)/debug/countersign
scratch=$(mktemp -d)
gateway= shop=
trap 'for one in $gateway $shop; do kill "$one" 2>/dev/null || true; done; rm -rf "$scratch"' EXIT
out=$(realpath -m "${1:-$scratch}")
mkdir -p "$out"

cp tests/browser/*.mjs tests/browser/*.py "$scratch/"
venv=$(python_with tests/browser/requirements.txt)
(cd "$scratch" && PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm install --silent --no-audit --no-fund playwright-core axe-core)

# A gateway of its own for each, with more in its configuration; the token of its sign-in link.
begin() {
    [ -z "$gateway" ] || kill "$gateway"
    mkdir "$scratch/$1"
    port=$(free_port)
    [ -z "${2:-}" ] || echo "$2" >"$scratch/$1/countersign.toml"
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
begin votes '
[guard]
approvers = { who = ["members"], needed = 2 }
'
walk votes.mjs "http://127.0.0.1:$port" "$token"
begin schedules
walk schedules.mjs "http://127.0.0.1:$port" "$token" "$out/schedules.png"
push=$(free_port)
begin notifications "
[admin]
private_push_hosts = [\"127.0.0.1:$push\"]
"
walk notifications.mjs "http://127.0.0.1:$port" "$token" "$venv/bin/python" "$push" "$out/notifications.png"
begin console
walk console.mjs "http://127.0.0.1:$port" "$token" "$scratch/console/data/countersign.db" "$out/console.png"

# The first hour: an empty folder, a browser and a terminal.
begin first
walk first_hour.mjs "http://127.0.0.1:$port" "$token" "$(dirname "$binary")/fake-peers" "$out/first-hour.png"
(
    cd "$scratch/first"
    "$binary" doctor >"$scratch/doctor.out"
    "$binary" logs --file "$scratch/first.log" | grep -q 'configuration reloaded'
    "$binary" backup first.tar
    tar -tf first.tar >"$scratch/backup.out"
    grep -q 'countersign.db' "$scratch/backup.out"
    "$binary" people | grep -q 'Ann'
)

# A site on an origin of its own, which shows the widget; `localhost` is another one to a browser.
mkdir "$scratch/site"
site=$(free_port)
begin widget "
[[channels]]
id = \"site\"
kind = \"web\"
origins = [\"http://localhost:$site\"]
allow = [\"*\"]
[guard]
approvers = \"members\"
"
cat >"$scratch/site/index.html" <<HTML
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>A shop</title><link rel="icon" href="data:,"></head>
<body><main><h1>A shop</h1></main>
<script src="http://127.0.0.1:$port/widget.js" data-channel="site" async></script></body></html>
HTML
python3 -m http.server --directory "$scratch/site" "$site" >/dev/null 2>&1 &
shop=$!
for _ in $(seq 100); do
    python3 -c "import socket; socket.create_connection(('127.0.0.1', $site))" 2>/dev/null && break
    sleep 0.1
done
walk widget.mjs "http://127.0.0.1:$port" "http://localhost:$site/" "http://127.0.0.1:$site/" "$out/widget.png"
