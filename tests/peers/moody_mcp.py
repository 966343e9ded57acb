"""A server of tools over stdio, which does on purpose what good ones do by accident.

usage: moody_mcp.py FOLDER

It offers what stands in FOLDER/tools.json, and writes what it is told to FOLDER/heard.
While FOLDER/stalls exists, it does not list its tools.
If FOLDER/impatient exists, it does not wait for the answers to its questions: the call ends as soon
as FOLDER/bored exists.
"""
import collections
import itertools
import json
import pathlib
import select
import sys
import time

folder = pathlib.Path(sys.argv[1])

QUESTION = {
    "message": "Which colour?",
    "requestedSchema": {"type": "object", "properties": {"colour": {"type": "string"}}},
}


class Refused(Exception):
    """The error that a call ends with."""


def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def hear():
    for line in sys.stdin:
        with (folder / "heard").open("a") as heard:
            heard.write(line)
        yield json.loads(line)


def tools():
    return json.loads((folder / "tools.json").read_text())


def resources():
    return json.loads((folder / "resources.json").read_text())


def prompts():
    return json.loads((folder / "prompts.json").read_text())


def extra():
    kinds = ["resources", "prompts"]
    return {kind: {} for kind in kinds if (folder / f"{kind}.json").exists()}


def text(words):
    return {"content": [{"type": "text", "text": words}]}


def call(params, messages):
    """What came of it; nothing, if nobody waits for it."""
    match params["name"]:
        case "die":
            # Not over the same question twice, so that a second try can be seen.
            if (folder / "heard").read_text().count('"tools/call"') == 1:
                print("out of memory", file=sys.stderr)
                sys.exit(1)
            return text("alive")
        case "slow" | "slow_reader":
            progress = {"progressToken": params["_meta"]["progressToken"]}
            progress |= {"progress": 1, "total": 3, "message": "the *first*"}
            say(method="notifications/progress", params=progress)
            while next(messages).get("method") != "notifications/cancelled":
                pass
            return None
        case "busy":
            # It reports progress until it is told something.
            progress = {"progressToken": params["_meta"]["progressToken"], "progress": 1}
            while not select.select([sys.stdin], [], [], 0.01)[0]:
                say(method="notifications/progress", params=progress)
            next(messages)
            return None
        case "ask":
            say(id=99, method="elicitation/create", params=QUESTION)
            return text(next(messages)["result"]["action"])
        case "nag":
            # The same question again and again. It does not wait for the first answers.
            wanted, actions = params["arguments"], []
            for n in range(wanted["times"]):
                say(id=1000 + n, method="elicitation/create", params=QUESTION)
                if n >= wanted["unanswered"]:
                    actions.append(next(messages)["result"]["action"])
            counts = sorted(collections.Counter(actions).items())
            return text(" ".join(f"{count} {action}" for action, count in counts))
        case "flood":
            # It does not read the answers.
            for n in itertools.count(1000):
                say(id=n, method="elicitation/create", params=QUESTION)
        case "order":
            # What it needs to know stands in its arguments.
            say(id=99, method="elicitation/create", params=params["arguments"])
            if (folder / "impatient").exists():
                while not (folder / "bored").exists():
                    time.sleep(0.01)
                return text("Nobody answered.")
            answer = next(messages)
            while answer.get("id") != 99:
                answer = next(messages)
            return text(json.dumps(answer["result"]))
        case "sign_in":
            page = {"mode": "url", "elicitationId": "7", "url": "https://example.org/sign-in"}
            pages = {"elicitations": [page | {"message": "Sign in first."}]}
            raise Refused({"code": -32042, "message": "Not signed in.", "data": pages})
        case "grow":
            more = {"name": "new", "inputSchema": {"type": "object"}}
            (folder / "tools.json").write_text(json.dumps(tools() + [more]))
            say(method="notifications/tools/list_changed")
            return text("grown")
        case _:
            return text(json.dumps(params["arguments"]))


if (folder / "broken").exists():
    # As a server does that lacks its configuration.
    sys.exit((folder / "broken").read_text())

messages = hear()
for message in messages:
    match message.get("method"):
        case "initialize":
            result = {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {"listChanged": True}} | extra(),
                "serverInfo": {"name": "moody", "version": "1"},
            }
        case "tools/list":
            while (folder / "stalls").exists():
                time.sleep(0.01)
            result = {"tools": tools()}
        case "tools/call":
            try:
                result = call(message["params"], messages)
            except Refused as refused:
                result = None
                say(id=message["id"], error=refused.args[0])
        case "resources/list":
            result = {"resources": resources()}
        case "resources/read":
            found = [r for r in resources() if r["uri"] == message["params"]["uri"]]
            if found:
                result = {"contents": [{"uri": r["uri"], "text": "of " + r["name"]} for r in found]}
            else:
                result = None
                error = {"code": -32002, "message": "no such resource"}
                say(id=message["id"], error=error)
        case "prompts/list":
            result = {"prompts": prompts()}
        case "prompts/get":
            given = message["params"].get("arguments", {})
            words = "\n".join(["Please do this:", *(f"{k}: {v}" for k, v in given.items())])
            said = {"role": "user", "content": {"type": "text", "text": words}}
            result = {"messages": [] if message["params"]["name"] == "empty" else [said]}
            if message["params"]["name"] == "gone":
                result = None
                say(id=message["id"], error={"code": -32602, "message": "no such prompt"})
        case "ping":
            result = {}
        case _:
            result = None
            if "id" in message:
                error = {"code": -32601, "message": "no such method"}
                say(id=message["id"], error=error)
    if result is not None:
        say(id=message["id"], result=result)
