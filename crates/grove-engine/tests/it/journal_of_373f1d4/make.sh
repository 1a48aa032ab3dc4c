#!/bin/sh
# Makes the journal: make.sh GROVE MODEL_SERVER FOLDER
set -eu
grove=$1 server=$2 folder=$3
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$folder/home/.grove/agents"
cat > "$folder/home/.grove/agents/scout.md" <<'AGENT'
---
name: scout
description: Looks around.
model: anthropic/m
tools: ls, contact_supervisor
maxExecutionTimeMs: 3000000000000
---
You look around.
AGENT
"$server" "$here/script.json" > "$folder/address" &
model=$!
trap 'kill $model' EXIT
until [ -s "$folder/address" ]; do :; done
export HOME="$folder/home" ANTHROPIC_API_KEY=a-key-of-the-tests ANTHROPIC_BASE_URL=$(cat "$folder/address")
cd /usr
"$grove" run scout "count the folders"
"$grove" run scout "choose a colour" '->' scout "paint it {previous}"
"$grove" run --request "$here/request.json"
until_state() { until "$grove" runs show "$1" --json | grep -q "$2"; do :; done; }
paused=$("$grove" run --bg scout "wait for me")
until_state "$paused" '"state": "running"'
"$grove" runs interrupt "$paused"
until_state "$paused" '"state": "paused"'
asking=$("$grove" run --bg scout "ask me")
until_state "$asking" '"state": "asking"'
running=$("$grove" run --bg scout "work on")
until_state "$running" '"toolCalls": 1'
sleep 1
"$grove" runs logs "$running"
kill -KILL "$("$grove" runs logs "$running" | sed -n 's/.*taken by process \([0-9]*\).*/\1/p' | tail -n 1)"
