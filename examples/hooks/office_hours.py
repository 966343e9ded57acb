#!/usr/bin/env python3
"""A hook program: outside office hours, no call that sends something leaves without a note.

It reads one JSON object from standard input and answers with one on standard output, as
docs/guides/hooks.md describes:

    [[hooks]]
    name = "office hours"
    on = "before_tool"
    action = "run"
    tool = "http_request"
    command = ["/usr/local/bin/office_hours.py"]
"""

import datetime
import json
import sys


def answer(question, now):
    method = question["arguments"].get("method", "GET")
    if method in ("GET", "HEAD"):
        return {}
    if now.weekday() >= 5:
        return {"stop": "Changes to other systems wait until Monday."}
    if not 8 <= now.hour < 18:
        return {"note": f"It is {now:%H:%M}: nobody may be there if this goes wrong."}
    return {}


if __name__ == "__main__":
    json.dump(answer(json.load(sys.stdin), datetime.datetime.now()), sys.stdout)
