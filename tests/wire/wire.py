# SPDX-License-Identifier: Apache-2.0
"""What the wire tests share: one server with one dependency and a scripted provider, and what the model was shown."""

import json
import os
import pathlib
import re
import select
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from mirage import Mirage, header, http  # noqa: E402
from provider import Provider, Reply, request_in  # noqa: E402

SANITIZED = bool(os.environ.get("MIRAGE_TEST_SANITIZED"))
SLOW = 20 if os.environ.get("MIRAGE_WRAP") else 3 if SANITIZED else 1    # how much longer things may take


def shown(call):
    """The request to answer as the model was shown it: the object at the end of the last message that has one (a
    repair's last message has none)."""
    return next((r for role, text in reversed(call.messages) if role == "user" and (r := request_in(text))), None)


class Table:
    """An `answer` for the provider by the path that the model was shown: an object, a text, a Reply, or a function
    of the request that returns one. Other paths: 200 and {"n": number of the call}."""

    def __init__(self, replies=None, default=None):
        self.replies, self.default = dict(replies or {}), default

    def __call__(self, call):
        request = shown(call)
        reply = self.replies.get(request["path"], self.default)
        if callable(reply):
            reply = reply(request)
        if reply is None:
            reply = {"status": 200, "body": {"n": call.number}}
        return Reply.json(reply) if isinstance(reply, dict) else Reply(reply) if isinstance(reply, str) else reply


def yaml(provider, *, dep="", top="", model="", names=("inventory",), control=True, wire="openai"):
    """A configuration: `dep` is YAML for each dependency, `model` further members in flow style, `top` root keys."""
    lines = ["control: {listen: 127.0.0.1:0}"] if control else []
    base = provider.base_url if wire == "openai" else provider.base_url.removesuffix("/v1")
    lines.append(f"model: {{provider: {wire}, base_url: {base}, name: m{', ' + model if model else ''}}}")
    lines += [line for line in top.splitlines() if line.strip()]
    lines.append("dependencies:")
    for name in names:
        lines += [f"  - name: {name}"]
        if "listen:" not in dep and "prefix:" not in dep:
            lines.append("    listen: {http: 127.0.0.1:0}")
        lines += ["    " + line for line in dep.splitlines() if line.strip()]
    return "\n".join(lines) + "\n"


class Case(unittest.TestCase):
    """serve() starts a provider and a server that end, and are checked, with the test."""

    maxDiff = 4000

    def provider(self, answer=None, **options):
        provider = self.enterContext(Provider(Table() if answer is None else answer, **options))
        self.addCleanup(lambda: self.assertEqual([], provider.trouble))
        return provider

    def mirage(self, config, args=(), env=None, **options):
        return self.enterContext(Mirage(config, args, env, **options))

    def serve(self, answer=None, *, dep="", top="", model="", names=("inventory",), wire="openai", args=(), env=None,
              keys=None, **options):
        """(server, provider)"""
        if isinstance(answer, dict):
            answer = Table(answer)
        provider = self.provider(answer, **(keys or {}))
        own = {"ANTHROPIC_API_KEY": "sk-ant-test"} if wire == "anthropic" else {}
        key = "key_env: ANTHROPIC_API_KEY" if wire == "anthropic" and "key_env" not in model else ""
        config = yaml(provider, dep=dep, top=top, model=", ".join(x for x in (key, model) if x), names=names,
                      wire=wire)
        return self.mirage(config, args, own | (env or {}), **options), provider

    def assertError(self, reply, status, pattern):
        """A failure of Mirage's own: the status, the sentence in `mirage-error` and in the body."""
        code, headers, body = reply
        self.assertEqual(status, code, reply)
        sentence = header(headers, "mirage-error")
        self.assertIsNotNone(sentence, reply)
        self.assertRegex(sentence, pattern)
        self.assertIn("error", json.loads(body))
        return json.loads(body)["error"]


def get(url, headers=(), **options):
    return http("GET", url, None, headers, **options)


def post(url, body=None, headers=(), **options):
    return http("POST", url, body, headers, **options)


def source(reply):
    """Who answered: llm, cassette, None."""
    return header(reply[1], "mirage-source")


def value(reply):
    return json.loads(reply[2])


def cassette(mirage, name="inventory", n=0, folder="cassettes"):
    """The cassette's lines as objects, once there are at least n: they are written while the caller has its reply."""
    def lines():
        try:
            whole, _, _ = mirage.read(f"{folder}/{name}.jsonl").rpartition("\n")
        except FileNotFoundError:
            whole = ""
        found = [json.loads(line) for line in whole.splitlines()]
        return found if len(found) >= n else None
    return lines() if n == 0 else until(lines, f"{n} lines in the cassette")


def metrics(mirage):
    """{series with labels: value}"""
    text = get(mirage.control + "/metrics")[2].decode()
    return {m[1]: float(m[2]) for m in re.finditer(r"(?m)^(mirage_\S+) (\S+)$", text)}


def metric(mirage, name, **labels):
    """One value of the first dependency."""
    own = "".join(f',{k}="{v}"' for k, v in labels.items())
    return metrics(mirage)[f'{name}{{dependency="{mirage.names[0]}"{own}}}']


def until(probe, what, timeout=10):
    """The first true value of probe(), asked again and again: for what no descriptor tells."""
    deadline = time.monotonic() + timeout * SLOW
    while not (found := probe()):
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {timeout * SLOW} s")
        select.select([], [], [], 0.01)
    return found


def sockets(mirage):
    """How many sockets the server holds."""
    folder, count = f"/proc/{mirage.pid}/fd", 0
    for name in os.listdir(folder):
        try:
            count += os.readlink(f"{folder}/{name}").startswith("socket:")
        except FileNotFoundError:
            pass
    return count


def request_bytes(path, method="POST", body=b"", headers=()):
    """A request for a raw connection."""
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n" + "".join(f"{k}: {v}\r\n" for k, v in headers)
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
