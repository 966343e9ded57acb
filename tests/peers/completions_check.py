"""Talks to an agent with the official client of OpenAI."""
import asyncio
import json
import pathlib
import subprocess
import sys
import time
import urllib.request

import openai

binary, folder, port = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
base = f"http://127.0.0.1:{port}"
(folder / "countersign.toml").write_text(f"""
data_dir = "data"
[admin]
listen = "127.0.0.1:{port}"
[admin.completions]
enabled = true
[limits]
messages_per_minute = 1000
""")


def token(name, role):
    made = [binary, "token", "--api", name, "--role", role]
    return subprocess.run(made, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def refused(kind, code, ask):
    try:
        ask()
    except kind as problem:
        assert problem.code == code, problem
        return
    raise AssertionError(f"{code} was expected")


def user(text):
    return {"role": "user", "content": text}


def conversations(owner):
    request = urllib.request.Request(f"{base}/api/v1/conversations", headers={"authorization": f"Bearer {owner}"})
    return len(json.load(urllib.request.urlopen(request, timeout=30))["items"])


def check():
    member, owner = token("client", "member"), token("owner", "owner")
    client = openai.OpenAI(base_url=f"{base}/v1", api_key=member, max_retries=0)
    assert [model.id for model in client.models.list()] == ["default"]
    assert client.models.retrieve("default").owned_by == "countersign"

    messages = [{"role": "system", "content": "Be brief."}]
    for text in ["hello", "what time is it?", "thanks"]:
        messages.append(user(text))
        answer = client.chat.completions.create(model="default", messages=messages, temperature=0.5)
        [choice] = answer.choices
        assert choice.finish_reason == "stop" and choice.message.content, answer
        messages.append(choice.message.model_dump(include={"role", "content"}))
    assert conversations(owner) == 1, conversations(owner)

    messages.append(user("hello again"))
    with client.chat.completions.create(
        model="default", messages=messages, stream=True, stream_options={"include_usage": True}
    ) as chunks:
        chunks = list(chunks)
    content = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
    assert content and chunks[0].choices[0].delta.role == "assistant", chunks
    ends = [choice.finish_reason for chunk in chunks for choice in chunk.choices if choice.finish_reason]
    assert ends == ["stop"], ends
    assert conversations(owner) == 1, conversations(owner)

    def create(client=client, model="default", **more):
        return client.chat.completions.create(model=model, messages=[user("hi")], **more)

    refused(openai.NotFoundError, "model_not_found", lambda: create(model="gpt"))
    tool = {"type": "function", "function": {"name": "f", "parameters": {}}}
    refused(openai.BadRequestError, "unsupported_parameter", lambda: create(tools=[tool]))
    refused(openai.BadRequestError, "unsupported_parameter", lambda: create(n=2))
    stranger = openai.OpenAI(base_url=f"{base}/v1", api_key="cs_guess", max_retries=0)
    refused(openai.AuthenticationError, "invalid_api_key", lambda: create(stranger))
    viewer = openai.OpenAI(base_url=f"{base}/v1", api_key=token("viewer", "viewer"), max_retries=0)
    refused(openai.PermissionDeniedError, "insufficient_role", lambda: create(viewer))
    asyncio.run(many(member))
    assert conversations(owner) == 41, conversations(owner)
    print("the client of OpenAI understands every answer")


async def many(key):
    client = openai.AsyncOpenAI(base_url=f"{base}/v1", api_key=key, max_retries=0)
    asked = [client.chat.completions.create(model="default", messages=[user(f"hello {n}")]) for n in range(40)]
    answers = await asyncio.gather(*asked)
    assert len({answer.id for answer in answers}) == 40
    assert all(answer.choices[0].message.content for answer in answers)


with open(folder / "log", "w") as log:
    gateway = subprocess.Popen([binary], cwd=folder, stdout=log, stderr=log, env={"PATH": "/usr/bin:/bin"})
try:
    until = time.time() + 60
    while time.time() < until:
        try:
            urllib.request.urlopen(f"{base}/healthz", timeout=5)
            break
        except OSError:
            time.sleep(0.2)
    check()
finally:
    gateway.terminate()
    gateway.wait(30)
