#!/bin/sh
# Holds the fake Discord against a client that was not made for it, and the adapter against a Discord
# that somebody else wrote. Ends with 1 on a surprise.
# Usage: tests/peers/discord_check.sh
set -eu
. "$(dirname "$0")/common.sh"
venv=$(python_with tests/peers/requirements-discord.txt)

build
: >"$scratch/fake"
"$target/debug/fake-discord" 0 2>"$scratch/fake" &
started="$started $!"
until_said "$scratch/fake" ' channel '
read -r url _ token _ <"$scratch/fake"

timeout 90 "$venv/bin/python" "$here/discordpy_check.py" "$url" "$token" >"$scratch/said" 2>"$scratch/errors" || {
    cat "$scratch/said" "$scratch/errors" "$scratch/fake" >&2
    exit 1
}
# It was greeted, heard a person, answered with a button and a file that it could read back, was
# pressed, edited the message, and told the presser something in private.
cat >"$scratch/expected" <<'LINES'
CLICK ann
FOLLOWUP ok
MSG Please run it. []
READY counter_bot ['Lab']
SENT 50 50
LINES
# When it takes itself for ready, and which id its message has, is its own affair.
sed 's/^SENT [0-9]*/SENT/' "$scratch/said" | sort >"$scratch/short"
if ! diff -u "$scratch/expected" "$scratch/short" || grep -q ERROR "$scratch/errors"; then
    cat "$scratch/errors" >&2
    exit 1
fi

# speak_to URL OPTIONS: the adapter against a peer of its own on $port; without options also what every
# channel has to do, item by item.
speak_to() {
    "$venv/bin/python" "$here/simcord_wire.py" "$port" $2 >"$scratch/peer" 2>&1 &
    peer=$!
    started="$started $peer"
    tries=0
    until grep -q '^simcord ' "$scratch/peer"; do
        tries=$((tries + 1))
        [ "$tries" -lt 300 ] || { echo "the peer did not start:" >&2; cat "$scratch/peer" >&2; exit 1; }
        sleep 0.1
    done
    if ! COUNTERSIGN_PEER_USERS=http://127.0.0.1:$port COUNTERSIGN_PEER_URL=$1 timeout 120 \
        cargo test --quiet --workspace --all-features --locked --test discord -- --ignored --exact \
        peer::somebody_elses_discord_is_spoken_to >"$scratch/said" 2>&1; then
        cat "$scratch/said" "$scratch/peer" >&2
        exit 1
    fi
    if [ -z "$2" ] && ! COUNTERSIGN_PEER_USERS=$1 timeout 120 \
        cargo test --quiet --workspace --all-features --locked --test conforming -- --ignored \
        --test-threads=1 simcord:: >"$scratch/said" 2>&1; then
        cat "$scratch/said" "$scratch/peer" >&2
        exit 1
    fi
    kill "$peer"
}

port=$(free_port)
speak_to "http://127.0.0.1:$port" ""

# Once more with the platform's limits, under its own name, which leads to the peer, behind a
# certificate that nobody else trusts.
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=Peer" \
    -keyout "$scratch/ca.key" -out "$scratch/ca.pem" 2>/dev/null
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=localhost" \
    -keyout "$scratch/peer.key" -out "$scratch/peer.csr" 2>/dev/null
printf 'subjectAltName=DNS:discord.com,DNS:cdn.discordapp.com,DNS:gateway.discord.gg\nbasicConstraints=CA:FALSE\n' >"$scratch/peer.ext"
openssl x509 -req -in "$scratch/peer.csr" -CA "$scratch/ca.pem" -CAkey "$scratch/ca.key" \
    -CAcreateserial -days 2 -extfile "$scratch/peer.ext" -out "$scratch/peer.pem" 2>/dev/null
port=$(free_port)
tls=$(free_port)
export COUNTERSIGN_PEER_CA="$scratch/ca.pem" COUNTERSIGN_PEER_AT="127.0.0.1:$tls"
speak_to "https://discord.com" "--ratelimit --tls $tls $scratch/peer.pem $scratch/peer.key"

echo "the fake Discord and the Discord adapter are as their peers expect"
