"""A push service of its own, strict about RFC 8030, 8188, 8291 and 8292, with the cryptography of other
projects (http-ece, PyJWT).

    push_service.py PORT

Prints the subscription of a browser as JSON, then each message as it arrives: the decrypted text, and
the key that signed the request. A request that is not valid is answered with 400, and printed as a
fault.
"""

import base64
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import http_ece
import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

port = int(sys.argv[1])
origin = f"http://127.0.0.1:{port}"
private = ec.generate_private_key(ec.SECP256R1())
auth = os.urandom(16)


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def say(value):
    print(json.dumps(value), flush=True)


def received(headers, body):
    """The text and the key of a valid request."""
    assert headers["Content-Encoding"] == "aes128gcm", headers["Content-Encoding"]
    assert 0 < int(headers["TTL"]) <= 2_419_200, headers["TTL"]
    assert headers["Urgency"] in ("very-low", "low", "normal", "high"), headers["Urgency"]
    assert len(headers["Topic"]) <= 32, headers["Topic"]
    scheme, _, parameters = headers["Authorization"].partition(" ")
    assert scheme == "vapid", scheme
    given = dict(part.strip().split("=", 1) for part in parameters.split(","))
    key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), decoded(given["k"]))
    claims = jwt.decode(given["t"], key, algorithms=["ES256"], audience=origin)
    assert time.time() < claims["exp"] <= time.time() + 86_400, claims
    text = http_ece.decrypt(body, private_key=private, auth_secret=auth, version="aes128gcm")
    return {"text": json.loads(text), "key": given["k"], "url": claims.get("sub")}


class PushHandler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            assert self.path == "/push/browser", self.path
            say(received(self.headers, body))
            self.send_response(201)
        except Exception as problem:
            say({"fault": repr(problem)})
            self.send_response(400)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", port), PushHandler)
public = private.public_key().public_bytes(
    serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
)
say({"endpoint": f"{origin}/push/browser", "keys": {"p256dh": encoded(public), "auth": encoded(auth)}})
server.serve_forever()
