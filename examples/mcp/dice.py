#!/usr/bin/env python3
"""An MCP server with one tool, over stdio, without dependencies.

    [[mcp]]
    name = "games"
    command = ["python3", "examples/mcp/dice.py"]

Each message is one line of JSON-RPC 2.0. Nothing else may be written to standard output.
"""

import json
import random
import sys

TOOL = {
    "name": "roll",
    "description": "Rolls dice.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "dice": {"type": "integer", "minimum": 1, "maximum": 100},
            "sides": {"type": "integer", "minimum": 2, "maximum": 1000, "default": 6},
        },
        "required": ["dice"],
    },
    # It changes nothing; the gateway believes that once somebody trusts the tool.
    "annotations": {"readOnlyHint": True},
}


def roll(arguments):
    sides = arguments.get("sides", 6)
    rolled = [random.randint(1, sides) for _ in range(arguments["dice"])]
    return f"{' + '.join(map(str, rolled))} = {sum(rolled)}"


def answer(method, parameters):
    """The result of a request; None if there is no such method."""
    if method == "initialize":
        return {
            "protocolVersion": parameters["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "dice", "version": "1.0"},
        }
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call" and parameters["name"] == TOOL["name"]:
        text = roll(parameters.get("arguments", {}))
        return {"content": [{"type": "text", "text": text}]}
    return None


def main():
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue  # a notification
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        result = answer(message.get("method"), message.get("params", {}))
        if result is None:
            reply["error"] = {"code": -32601, "message": "there is no such method"}
        else:
            reply["result"] = result
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
