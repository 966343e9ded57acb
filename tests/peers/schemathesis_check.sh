#!/bin/sh
# Validates the OpenAPI document by openapi-spec-validator, and holds the API against it: no fault of
# ours, no undocumented status, answers that fit their schema. On SQLite, and on PostgreSQL where
# COUNTERSIGN_TEST_PG names a server: it takes less than SQLite does. Ends with 1 on a surprise.
# Usage: tests/peers/schemathesis_check.sh
set -eu
. "$(dirname "$0")/common.sh"
venv=$(python_with tests/peers/requirements-api.txt)

build
binary=$target/debug/countersign
cd "$scratch"

# check DATABASE: a gateway on it, and every operation of its document.
check() {
    port=$(free_port)
    export COUNTERSIGN__STORE__URL="$1" COUNTERSIGN__ADMIN__LISTEN="127.0.0.1:$port"
    "$binary" >said 2>log &
    gateway=$!
    started="$started $gateway"
    until_said said 'Countersign is running'
    token=$("$binary" token --api schemathesis --role owner 2>log.token)
    "$venv/bin/python" - "http://127.0.0.1:$port/openapi.json" >openapi.json <<'EOF'
import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1]).read().decode())
EOF
    "$venv/bin/openapi-spec-validator" --schema 3.1 --validation-errors all openapi.json
    "$venv/bin/schemathesis" run "http://127.0.0.1:$port/openapi.json" \
        --url "http://127.0.0.1:$port" --header "Authorization: Bearer $token" \
        --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,ignored_auth \
        --max-examples "${EXAMPLES:-50}" --seed 7 --no-color >checked || {
        tail -n 200 checked >&2
        grep -i error log >&2 || :
        exit 1
    }
    grep 'generated' checked | tail -n 1
    kill "$gateway"
    wait "$gateway" || :
}

check sqlite:data/countersign.db
if [ -n "${COUNTERSIGN_TEST_PG:-}" ]; then
    database=api_$$
    psql -q "$COUNTERSIGN_TEST_PG/postgres" -c "CREATE DATABASE $database"
    check "$COUNTERSIGN_TEST_PG/$database"
    psql -q "$COUNTERSIGN_TEST_PG/postgres" -c "DROP DATABASE $database WITH (FORCE)"
fi

echo "the API is as its document says"
