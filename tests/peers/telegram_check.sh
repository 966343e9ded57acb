#!/bin/sh
# Holds the fake Bot API against two clients that were not made for it. Ends with 1 on a surprise.
# Usage: tests/peers/telegram_check.sh [VENV]   (a virtual environment; made if it is not there)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
venv=${1:-${TMPDIR:-/tmp}/countersign-telegram-peers}
scratch=$(mktemp -d)
fake=
proxy=
cleanup() {
    for process in $fake $proxy; do
        kill "$process" 2>/dev/null || :
    done
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

cd "$here/../.."
cargo build --quiet --workspace --all-features --all-targets --locked
"${CARGO_TARGET_DIR:-target}/debug/fake-telegram" 0 2>"$scratch/fake" &
fake=$!
tries=0
until grep -q ' chat ' "$scratch/fake"; do
    tries=$((tries + 1))
    [ "$tries" -lt 50 ] || { echo "the fake did not start:" >&2; cat "$scratch/fake" >&2; exit 1; }
    sleep 0.1
done
read -r url _ token _ chat <"$scratch/fake"

timeout 120 "$venv/bin/python" "$here/tg_client_check.py" "$url" "$token" "$chat" >"$scratch/said"
awk '{ print $1, $2, ($0 ~ / FAIL /) ? "FAIL" : ($0 ~ / ok  /) ? "ok" : "?" }' "$scratch/said" >"$scratch/short"

# What the platform must refuse is refused, all else is granted. An edit without a keyboard takes the
# keyboard away, so that taking it away once more changes nothing.
cat >"$scratch/expected" <<'LINES'
aiogram getMe ok
aiogram getWebhookInfo ok
aiogram sendMessage+keyboard ok
aiogram editMessageText ok
aiogram edit FAIL
aiogram editMessageReplyMarkup FAIL
aiogram sendChatAction ok
aiogram sendDocument ok
aiogram getFile+download ok
aiogram answerCallback FAIL
aiogram sendMessage FAIL
aiogram sendMessage FAIL
aiogram bad FAIL
aiogram unknown FAIL
aiogram getUpdates ok
ptb initialize/getMe ok
ptb sendMessage+keyboard ok
ptb editMessageText ok
ptb sendDocument ok
ptb getFile+download ok
ptb getUpdates ok
LINES
if ! diff -u "$scratch/expected" "$scratch/short"; then
    cat "$scratch/said" >&2
    exit 1
fi
# Each refusal must be for the reason that the mistake has.
for reason in "message is not modified" "query is too old" "message text is empty" \
    "message is too long" "can't parse entities" "chat not found"; do
    grep -q "FAIL TelegramBadRequest.*$reason" "$scratch/said" || {
        echo "nothing was refused with: $reason" >&2
        exit 1
    }
done

# The adapter's requests, and the fake's updates, by the schema that the clients' authors keep.
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
COUNTERSIGN_FAKE_PORT=$upstream COUNTERSIGN_PROXY_URL=http://127.0.0.1:$port \
    timeout 120 cargo test --quiet --workspace --all-features --locked --test telegram -- --ignored --exact \
    schema::every_request_is_what_the_official_schema_wants

echo "the fake Bot API and the Telegram adapter are as their peers expect"
