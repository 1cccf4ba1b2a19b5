# SPDX-License-Identifier: Apache-2.0
"""Talks to llm_driver, the program on the model client, and scripts a provider by the caller's words.

The driver's path is in the variable MIRAGE_LLM_DRIVER.
"""
import collections
import json
import os
import pathlib
import queue
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from provider import Reply  # noqa: E402

# enum mrg_err, util/error.h
OK, INVALID, NOT_FOUND, TOO_LARGE, IO, UNAVAILABLE, TIMEOUT, CANCELLED, UNSUPPORTED, CONFLICT, INTERNAL = range(11)

KEY = "sk-test-0123456789abcdef"
PATIENCE = float(os.environ.get("MIRAGE_TEST_PATIENCE", 60))


class Driver:
    """A running llm_driver; a context manager that insists on exit status 0."""

    def __init__(self, base_url, environ=None, **model):
        self.model = {"provider": "openai", "base_url": base_url, "name": "gpt-test", "key_env": "TEST_KEY",
                      "temperature": 0.1, "timeout_ms": 20000, "retries": 4, "concurrency": 16} | model
        self.environ = {"TEST_KEY": KEY}
        self.environ |= {k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS") or k == "PATH"}
        self.environ |= environ or {}
        self.count = 0
        self.lines = queue.Queue()
        self.results = {}

    def __enter__(self):
        self.process = subprocess.Popen([os.environ["MIRAGE_LLM_DRIVER"]], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, env=self.environ)
        self.thread = threading.Thread(target=self._listen, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, kind, *_):
        if self.process.poll() is None and not self.process.stdin.closed:
            self.process.stdin.close()
        try:
            status = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        self.thread.join(PATIENCE)
        self.process.stdout.close()
        if kind is None and status != 0:
            raise AssertionError(f"llm_driver ended with {status}")

    def _listen(self):
        for line in self.process.stdout:
            self.lines.put(json.loads(line))
        self.lines.put(None)

    def send(self, **command):
        self.process.stdin.write(json.dumps(command).encode() + b"\n")
        self.process.stdin.flush()

    def start(self, *messages, model=None, **options):
        """Starts a call; returns its number."""
        self.count += 1
        self.send(id=self.count, messages=list(messages), model=self.model | (model or {}), **options)
        return self.count

    def result(self, number):
        """Waits for the result of a call."""
        while number not in self.results:
            line = self.lines.get(timeout=PATIENCE)
            if line is None:
                raise AssertionError("llm_driver ended early")
            self.results[line["id"]] = line
        return self.results[number]

    def ask(self, *messages, **options):
        return self.result(self.start(*messages, **options))

    def cancel(self, number):
        self.send(cancel=number)

    def memory(self):
        self.send(memory=True)
        return self.lines.get(timeout=PATIENCE)

    def stop(self):
        """Ends standard input; returns the results that come after."""
        self.process.stdin.close()
        rest = []
        while (line := self.lines.get(timeout=PATIENCE)) is not None:
            rest.append(line)
        return rest


class Script:
    """An `answer` for the provider: replies by the first word of the first user message, the last one for ever."""

    def __init__(self, **replies):
        self.replies = {key: list(value) if isinstance(value, (list, tuple)) else [value]
                        for key, value in replies.items()}
        self.calls = collections.defaultdict(list)

    def __call__(self, call):
        key = next(text for role, text in call.messages if role == "user").split()[0]
        self.calls[key].append(call)
        replies = self.replies[key]
        reply = replies.pop(0) if len(replies) > 1 else replies[0]
        return Reply(reply) if isinstance(reply, str) else reply
