"""Signs what we verify, and verifies what we sign, with the reference library of Standard Webhooks."""
import datetime
import http.server
import json
import pathlib
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

from standardwebhooks.webhooks import Webhook

binary, folder, port, out_port = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
BEFORE = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
heard = []


class Hearer(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        heard.append((dict((name.lower(), value) for name, value in self.headers.items()), body))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


(folder / "countersign.toml").write_text(f"""
data_dir = "data"
[admin]
listen = "127.0.0.1:{port}"
[web]
allowed_private_hosts = ["127.0.0.1"]
[[webhooks_in]]
name = "ci"
secret = "{SECRET}"
previous_secret = "{BEFORE}"
channel = "web"
chat = "owner"
[[webhooks_out]]
name = "ops"
url = "http://127.0.0.1:{out_port}/hook"
secret = "{SECRET}"
previous_secret = "{BEFORE}"
topics = ["turn.finished", "turn.failed"]
""")
server = http.server.HTTPServer(("127.0.0.1", out_port), Hearer)
threading.Thread(target=server.serve_forever, daemon=True).start()


def post(secret, id, body, at=None):
    at = at or datetime.datetime.now(tz=datetime.timezone.utc)
    headers = {
        "webhook-id": id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(secret).sign(id, at, body),
        "content-type": "application/json",
    }
    request = urllib.request.Request(f"http://127.0.0.1:{port}/hooks/ci", body.encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status
    except urllib.error.HTTPError as refused:
        return refused.code


def eventually(what, look):
    for _ in range(600):
        found = look()
        if found:
            return found
        time.sleep(0.1)
    raise SystemExit(f"{what}: not within a minute\n{(folder / 'log').read_text()}")


def answers():
    try:
        return urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5).status == 200
    except OSError:
        return False


with open(folder / "log", "w") as log:
    program = subprocess.Popen([binary], cwd=folder, stdout=log, stderr=log, env={"PATH": "/usr/bin:/bin"})
try:
    eventually("the gateway answers", answers)
    body = json.dumps({"branch": "main", "text": "grüße, 世界"}, ensure_ascii=False)
    minutes = datetime.timedelta(minutes=1)
    now = datetime.datetime.now(tz=datetime.timezone.utc)
    assert post(SECRET, "msg_1", body) == 200
    assert post(SECRET, "msg_1", body) == 200, "answered alike"
    assert post(BEFORE, "msg_2", body) == 200, "the key before"
    assert post("whsec_" + "A" * 32, "msg_3", body) == 401
    assert post(SECRET, "msg_4", body, now - 6 * minutes) == 401
    assert post(SECRET, "msg_5", body, now + 6 * minutes) == 401
    eventually("we are told of the turn", lambda: heard)
    for headers, told in heard:
        for secret in (SECRET, BEFORE):
            assert Webhook(secret).verify(told, headers)["type"].startswith("turn.")
        try:
            Webhook(SECRET).verify(told + b" ", headers)
            raise SystemExit("a changed body was verified")
        except Exception as refused:
            assert type(refused).__name__ == "WebhookVerificationError", refused
finally:
    program.terminate()
    program.wait(timeout=30)
print(f"webhooks: 6 requests as signed by standardwebhooks, {len(heard)} of ours verified by it")
