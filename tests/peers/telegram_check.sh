#!/bin/sh
# Holds the fake Bot API against two clients that were not made for it. Ends with 1 on a surprise.
# Usage: tests/peers/telegram_check.sh
set -eu
. "$(dirname "$0")/common.sh"
venv=$(python_with tests/peers/requirements.txt)

build
"$target/debug/fake-telegram" 0 2>"$scratch/fake" &
started="$started $!"
until_said "$scratch/fake" ' chat '
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
aiogram sendPhoto ok
aiogram sendPhoto FAIL
aiogram sendMessageDraft ok
aiogram setMyCommands ok
aiogram getMyCommands ok
aiogram getChatMember ok
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
ptb sendPhoto ok
ptb getUpdates ok
LINES
if ! diff -u "$scratch/expected" "$scratch/short"; then
    cat "$scratch/said" >&2
    exit 1
fi
# Each refusal must be for the reason that the mistake has.
for reason in "message is not modified" "query is too old" "message text is empty" \
    "message is too long" "can't parse entities" "chat not found" "PHOTO_INVALID_DIMENSIONS"; do
    grep -q "FAIL TelegramBadRequest.*$reason" "$scratch/said" || {
        echo "nothing was refused with: $reason" >&2
        exit 1
    }
done

# The adapter's requests, and the fake's updates, by the schema that the clients' authors keep.
start_proxy
COUNTERSIGN_FAKE_PORT=$upstream COUNTERSIGN_PROXY_URL=http://127.0.0.1:$port \
    timeout 120 cargo test --quiet --workspace --all-features --locked --test telegram -- --ignored --exact \
    schema::every_request_is_what_the_official_schema_wants

echo "the fake Bot API and the Telegram adapter are as their peers expect"
