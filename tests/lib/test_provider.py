# SPDX-License-Identifier: Apache-2.0
"""The scripted provider, seen from the wire: each failure really looks like what it says."""

import datetime
import email.utils
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

import tap
from provider import Gate, Provider, Reply, request_in, simulate

HERE = os.path.dirname(os.path.abspath(__file__))

OPENAI = {"model": "gpt-4o-mini", "max_tokens": 100, "temperature": 0.1,
          "messages": [{"role": "system", "content": "Be a service."}, {"role": "user", "content": "GET /x"}]}
ANTHROPIC = {"model": "claude-sonnet-4-5", "max_tokens": 100, "system": "Be a service.",
             "messages": [{"role": "user", "content": "GET /x"}]}
ANTHROPIC_HEADERS = {"x-api-key": "k", "anthropic-version": "2023-06-01"}


def request(body, path="/v1/chat/completions", headers=None, method="POST"):
    """A request's bytes."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    fields = {"Host": "x", "Content-Type": "application/json", "Content-Length": len(data), **(headers or {})}
    head = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in fields.items() if v is not None)
    return head.encode() + b"\r\n" + data


def anthropic(body=None, **headers):
    merged = {**ANTHROPIC_HEADERS, **{k.replace("_", "-"): v for k, v in headers.items()}}
    return request(body or ANTHROPIC, "/v1/messages", merged)


class Socket:
    """A client's side with nothing between the test and the bytes."""

    def __init__(self, provider):
        self.sock = socket.create_connection(("127.0.0.1", provider.port), timeout=10)
        self.buffer = b""

    def send(self, data):
        self.sock.sendall(data)
        return self

    def rest(self):
        """All bytes until the connection ends; a reset raises ConnectionResetError."""
        while True:
            data = self.sock.recv(1 << 16)
            if not data:
                return self.buffer
            self.buffer += data

    def reply(self):
        """(status, headers, body) of one reply with a Content-Length or chunks."""
        head, body = self._until(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:])}
        if "chunked" in headers.get("transfer-encoding", ""):
            body = b""
            while True:
                size = int(self._until(b"\r\n")[0], 16)
                body += self._take(size)
                self._take(2)
                if not size:
                    break
        else:
            body = self._take(int(headers["content-length"]))
        return int(lines[0].split()[1]), headers, body

    def _until(self, mark):
        while mark not in self.buffer:
            data = self.sock.recv(1 << 16)
            if not data:
                raise EOFError(self.buffer)
            self.buffer += data
        part, _, self.buffer = self.buffer.partition(mark)
        return part, self.buffer

    def _take(self, n):
        while len(self.buffer) < n:
            data = self.sock.recv(1 << 20)
            if not data:
                raise EOFError(self.buffer)
            self.buffer += data
        part, self.buffer = self.buffer[:n], self.buffer[n:]
        return part

    def close(self):
        self.sock.close()


class Base(unittest.TestCase):
    def provider(self, *args, **options):
        p = Provider(*args, **options).start()
        self.addCleanup(p.close)
        return p

    def ask(self, provider, data=None):
        """(status, headers, parsed body) of one call on a connection of its own."""
        s = Socket(provider)
        self.addCleanup(s.close)
        status, headers, body = s.send(data or request(OPENAI)).reply()
        return status, headers, json.loads(body) if body else None

    def bytes_of(self, reply, data=None):
        """All that the wire shows of this reply, and the call."""
        p = self.provider(reply)
        s = Socket(p)
        self.addCleanup(s.close)
        return s.send(data or request(OPENAI)).rest(), p.wait_for_calls(1)[0]


class Success(Base):
    def test_openai(self):
        p = self.provider(Reply("hello", tokens=(1000, 900, 20), id="chatcmpl-abc", finish="length"))
        status, headers, body = self.ask(p)
        self.assertEqual(status, 200)
        self.assertEqual(headers["content-type"], "application/json")
        self.assertEqual(body["id"], "chatcmpl-abc")
        self.assertEqual(body["model"], "gpt-4o-mini")
        self.assertEqual(body["choices"][0]["message"]["content"], "hello")
        self.assertEqual(body["choices"][0]["finish_reason"], "length")
        self.assertEqual(body["usage"]["prompt_tokens"], 1000)
        self.assertEqual(body["usage"]["prompt_tokens_details"]["cached_tokens"], 900)
        self.assertEqual(body["usage"]["completion_tokens"], 20)
        p.assert_clean()

    def test_anthropic(self):
        p = self.provider(Reply("hello", tokens=(1000, 900, 20), written=60))
        status, _, body = self.ask(p, anthropic())
        self.assertEqual(status, 200)
        self.assertEqual(body["content"], [{"type": "text", "text": "hello"}])
        self.assertEqual(body["stop_reason"], "end_turn")
        self.assertEqual(body["usage"], {"input_tokens": 40, "cache_creation_input_tokens": 60,
                                         "cache_read_input_tokens": 900, "output_tokens": 20})
        p.queue(Reply("x", finish="length"))
        self.assertEqual(self.ask(p, anthropic())[2]["stop_reason"], "max_tokens")

    def test_what_a_call_tells(self):
        p = self.provider("ok")
        body = {**OPENAI, "messages": [
            {"role": "developer", "content": "One."}, {"role": "system", "content": [{"type": "text", "text": "Two."}]},
            {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},
            {"role": "user", "content": [{"type": "text", "text": "c"}, {"type": "text", "text": "d"}]}]}
        self.ask(p, request(body, headers={"X-Twice": "1"}))
        call = p.calls[0]
        self.assertEqual((call.wire, call.number, call.method, call.path),
                         ("openai", 1, "POST", "/v1/chat/completions"))
        self.assertEqual(call.system, "One.\n\nTwo.")
        self.assertEqual(call.messages, [("user", "a"), ("assistant", "b"), ("user", "cd")])
        self.assertEqual(call.last, "cd")
        self.assertEqual(call.headers["x-twice"], "1")
        self.assertEqual(json.loads(call.raw), call.body)
        p.wait_for_replies(1)
        self.assertFalse(call.cancelled)

        blocks = {**ANTHROPIC, "system": [
            {"type": "text", "text": "A", "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": "B"}]}
        self.ask(p, anthropic(blocks))
        self.assertEqual(p.calls[1].wire, "anthropic")
        self.assertEqual(p.calls[1].system, "AB")
        self.assertEqual(p.calls[1].messages, [("user", "GET /x")])

    def test_keep_alive_and_pipelining(self):
        p = self.provider(lambda call: Reply(f"n{call.number}"))
        s = Socket(p)
        s.send(request(OPENAI) + request(OPENAI)).send(request(OPENAI))
        texts = [json.loads(s.reply()[2])["choices"][0]["message"]["content"] for _ in range(3)]
        self.assertEqual(texts, ["n1", "n2", "n3"])
        self.assertEqual({c.connection for c in p.calls}, {1})
        s.close()
        p.wait_until(lambda: p.open_connections == 0)

    def test_chunked_and_continue(self):
        p = self.provider(Reply("hello").chunked())
        data = json.dumps(OPENAI).encode()
        s = Socket(p)
        s.send(request(b"", headers={"Content-Length": None, "Transfer-Encoding": "chunked",
                                     "Expect": "100-continue"}))
        self.assertEqual(s._until(b"\r\n\r\n")[0], b"HTTP/1.1 100 Continue")
        s.send(b"5\r\n" + data[:5] + b"\r\n%x;x=y\r\n" % (len(data) - 5) + data[5:] + b"\r\n0\r\n\r\n")
        status, headers, body = s.reply()
        self.assertEqual((status, headers["transfer-encoding"]), (200, "chunked"))
        self.assertNotIn("content-length", headers)
        self.assertEqual(json.loads(body)["choices"][0]["message"]["content"], "hello")
        s.close()


class Script(Base):
    def test_queue_comes_first(self):
        p = self.provider(lambda call: f"fn {call.number}")
        p.queue("one", Reply.json({"two": 2}))
        texts = [self.ask(p)[2]["choices"][0]["message"]["content"] for _ in range(3)]
        self.assertEqual(texts, ["one", '{"two": 2}', "fn 3"])
        self.assertEqual(p.queued, 0)

    def test_async_answer(self):
        gate = Gate()

        async def answer(call):
            await gate.wait()
            return {"late": True}
        p = self.provider(answer)
        s = Socket(p).send(request(OPENAI))
        p.wait_for_calls(1)
        gate.open()
        self.assertIn(b"late", s.reply()[2])
        s.close()

    def test_script_mistakes_are_told(self):
        p = self.provider()
        self.assertEqual(self.ask(p)[0], 500)
        with self.assertRaisesRegex(AssertionError, "no scripted reply for call 1"):
            p.assert_clean()
        p.clear()
        p.answer = lambda call: 1 / 0
        self.assertEqual(self.ask(p)[0], 500)
        with self.assertRaisesRegex(AssertionError, "ZeroDivisionError"):
            p.assert_clean()
        p.clear()
        p.answer = Reply("x", headers={"Bad": "\u20ac"})
        s = Socket(p).send(request(OPENAI))
        with self.assertRaises((EOFError, ConnectionResetError)):
            s.reply()
        p.wait_until(lambda: p.trouble)

    def test_wait_for_calls_times_out(self):
        p = self.provider("x")
        with self.assertRaisesRegex(AssertionError, "1 calls not met"):
            p.wait_for_calls(1, timeout=0.01)

    def test_simulate(self):
        self.assertEqual(request_in('see {"a": 1} and {"request": {"method": "GET", "path": "/p?q={x}"}} {'),
                         {"method": "GET", "path": "/p?q={x}"})
        p = self.provider(simulate)
        body = {**ANTHROPIC, "messages": [{"role": "user", "content": 'Now:\n{"method":"POST","path":"/items/1"}'}]}
        text = self.ask(p, anthropic(body))[2]["content"][0]["text"]
        self.assertEqual(json.loads(text), {"status": 200, "body": {"n": 1, "path": "/items/1"}})


class Held(Base):
    def test_delay(self):
        p = self.provider(Reply("x", delay=0.15))
        begun = time.monotonic()
        self.ask(p)
        self.assertGreaterEqual(time.monotonic() - begun, 0.15)

    def test_reply_held_and_released(self):
        p = self.provider(lambda call: Reply(f"n{call.number}").hold())
        one, two = Socket(p), Socket(p)
        one.send(request(OPENAI))
        p.wait_for_calls(1)
        two.send(request(OPENAI))
        p.wait_for_calls(2)
        p.wait_until(lambda: all(c.reply for c in p.calls))
        p.calls[1].release()
        self.assertIn(b"n2", two.reply()[2])
        self.assertFalse(p.calls[0].replied)
        p.calls[0].release()
        self.assertIn(b"n1", one.reply()[2])
        one.close(), two.close()

    def test_provider_held(self):
        p = self.provider("x")
        p.hold()
        sockets = [Socket(p).send(request(OPENAI)) for _ in range(4)]
        p.wait_for_calls(4)
        self.assertEqual(p.in_flight, 4)
        p.release(1)
        p.wait_for_replies(1)
        self.assertEqual(sum(c.replied for c in p.calls), 1)
        p.release()
        for s in sockets:
            self.assertEqual(s.reply()[0], 200)
            s.close()
        self.assertEqual(p.max_in_flight, 4)
        self.assertEqual(self.ask(p)[0], 200)

    def test_client_leaves_while_held(self):
        p = self.provider("x")
        p.hold()
        s = Socket(p).send(request(OPENAI))
        p.wait_for_calls(1)
        s.close()
        call = p.wait_for_cancelled()[0]
        self.assertTrue(call.cancelled)
        self.assertFalse(call.replied)
        self.assertIsNotNone(call.ended)
        p.wait_until(lambda: p.in_flight == 0)

    def test_client_leaves_during_delay_and_body(self):
        p = self.provider()
        p.queue(Reply("x", delay=3600), Reply.huge(64 << 20), Reply("x" * 1000).drip(1, 0.01))
        s = Socket(p).send(request(OPENAI))
        p.wait_for_calls(1)
        s.close()
        p.wait_for_cancelled(1)
        for n in (2, 3):
            s = Socket(p).send(request(OPENAI))
            self.assertTrue(s.sock.recv(10))
            s.close()
            p.wait_for_cancelled(n)
        self.assertEqual([c.number for c in p.calls if c.cancelled], [1, 2, 3])

    def test_drop_connections(self):
        p = self.provider(Reply("x").hold())
        s = Socket(p).send(request(OPENAI))
        p.wait_for_calls(1)
        p.drop_connections()
        self.assertEqual(s.rest(), b"")
        self.assertFalse(p.calls[0].cancelled)
        p.wait_until(lambda: p.in_flight == 0)


class Failures(Base):
    def test_errors_openai(self):
        for status in (400, 401, 429, 500, 503, 529):
            with self.subTest(status=status):
                got, _, body = self.ask(self.provider(Reply.error(status, "so it is")))
                self.assertEqual(got, status)
                self.assertEqual(body["error"]["message"], "so it is")
                self.assertEqual(set(body["error"]), {"message", "type", "param", "code"})

    def test_errors_anthropic(self):
        kinds = {429: "rate_limit_error", 500: "api_error", 529: "overloaded_error", 413: "request_too_large"}
        for status, kind in kinds.items():
            with self.subTest(status=status):
                got, _, body = self.ask(self.provider(Reply.error(status)), anthropic())
                self.assertEqual(got, status)
                self.assertEqual((body["type"], body["error"]["type"]), ("error", kind))

    def test_retry_after(self):
        p = self.provider()
        p.queue(Reply.error(429, retry_after=7), Reply.error(503, retry_after=30, retry_date=True),
                Reply.error(429, headers={"Retry-After": "soon", "x-should-retry": "false"}))
        self.assertEqual(self.ask(p)[1]["retry-after"], "7")
        when = email.utils.parsedate_to_datetime(self.ask(p)[1]["retry-after"])
        ahead = (when - datetime.datetime.now(datetime.timezone.utc)).total_seconds()
        self.assertTrue(25 < ahead <= 31, ahead)
        self.assertEqual(self.ask(p)[1]["retry-after"], "soon")

    def test_own_body_and_code(self):
        p = self.provider()
        p.queue(Reply(status=502, body="<html>bad gateway</html>", headers={"Content-Type": "text/html"}),
                Reply.error(400, "too long", error_code="context_length_exceeded"))
        s = Socket(p).send(request(OPENAI))
        status, headers, body = s.reply()
        s.close()
        self.assertEqual((status, headers["content-type"], body), (502, "text/html", b"<html>bad gateway</html>"))
        self.assertEqual(self.ask(p)[2]["error"]["code"], "context_length_exceeded")

    def test_cut_before_any_byte(self):
        data, call = self.bytes_of(Reply.cut("nothing"))
        self.assertEqual(data, b"")
        self.assertFalse(call.replied or call.cancelled)

    def test_cut_in_the_head(self):
        data, _ = self.bytes_of(Reply.cut("status"))
        self.assertTrue(data.startswith(b"HTTP/1.1 200 OK"))
        self.assertNotIn(b"\r\n\r\n", data)

    def test_cut_after_the_head(self):
        data, _ = self.bytes_of(Reply.cut("headers"))
        self.assertTrue(data.endswith(b"\r\n\r\n"))
        self.assertRegex(data, rb"Content-Length: [1-9]")

    def test_cut_in_the_body(self):
        data, call = self.bytes_of(Reply.cut("body", "some text"))
        head, _, body = data.partition(b"\r\n\r\n")
        declared = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        self.assertEqual(len(body), declared // 2)
        self.assertFalse(call.replied)

    def test_cut_by_reset(self):
        p = self.provider(Reply.cut("nothing", reset=True))
        with self.assertRaises(ConnectionResetError):
            Socket(p).send(request(OPENAI)).rest()

    def test_stall(self):
        p = self.provider(Reply.stall("body"))
        s = Socket(p).send(request(OPENAI))
        s._until(b"\r\n\r\n")
        s._take(1)
        s.sock.settimeout(0.1)
        with self.assertRaises(TimeoutError):
            s.rest()
        s.close()
        p.wait_for_cancelled()

    def test_short(self):
        data, _ = self.bytes_of(Reply.short("whole text", extra=50))
        head, _, body = data.partition(b"\r\n\r\n")
        self.assertIn(b"Content-Length: %d" % (len(body) + 50), head)
        self.assertEqual(json.loads(body)["choices"][0]["message"]["content"], "whole text")

    def test_invalid_json(self):
        s = Socket(self.provider(Reply.invalid_json())).send(request(OPENAI))
        status, _, body = s.reply()
        self.assertEqual(status, 200)
        with self.assertRaises(ValueError):
            json.loads(body)
        s.close()

    def test_empty(self):
        s = Socket(self.provider(Reply.empty())).send(request(OPENAI))
        status, headers, body = s.reply()
        self.assertEqual((status, headers["content-length"], body), (200, "0", b""))
        s.close()

    def test_no_choices(self):
        p = self.provider(Reply.no_choices())
        self.assertEqual(self.ask(p)[2]["choices"], [])
        self.assertEqual(self.ask(p, anthropic())[2]["content"], [])

    def test_drip(self):
        p = self.provider(Reply("slow").drip(7, 0.0005))
        s = Socket(p).send(request(OPENAI))
        most = 0
        while b"\r\n\r\n" not in s.buffer:
            piece = s.sock.recv(1 << 16)
            most = max(most, len(piece))
            s.buffer += piece
        self.assertLess(most, 200)
        self.assertIn(b"slow", s.reply()[2])
        s.close()

    def test_huge(self):
        s = Socket(self.provider(Reply.huge(20_000_000))).send(request(OPENAI))
        self.assertEqual(len(json.loads(s.reply()[2])["choices"][0]["message"]["content"]), 20_000_000)
        s.close()

    def test_closing(self):
        data, _ = self.bytes_of(Reply("x").closing())
        self.assertIn(b"Connection: close", data)


class Checks(Base):
    """What the real endpoints refuse is refused in their form and noted in the call."""

    def refused(self, provider, data, status, pattern):
        got, _, body = self.ask(provider, data)
        self.assertEqual(got, status, body)
        self.assertRegex(body["error"]["message"], pattern)
        self.assertEqual(provider.calls[-1].problem, body["error"]["message"])
        return body["error"]

    def test_openai(self):
        p = self.provider("x")
        system = {"role": "system", "content": "s"}
        for change, pattern in [
                ({"model": 3}, "model"), ({"messages": []}, "empty array"), ({"messages": "x"}, "array of objects"),
                ({"messages": [system, {"role": "tool", "content": "x"}]}, "Invalid value: 'tool'"),
                ({"messages": [{"role": "user", "content": 5}]}, r"messages\[0\].content"),
                ({"messages": [{"role": "user"}]}, r"messages\[0\].content"),
                ({"max_tokens": "100"}, "max_tokens"), ({"max_tokens": 0}, "max_tokens"),
                ({"max_completion_tokens": 5}, "at the same time"), ({"temperature": "hot"}, "temperature"),
                ({"temperature": True}, "temperature"), ({"max_tokenz": 1}, "Unknown parameter: 'max_tokenz'"),
                ({"response_format": {"type": "json_object"}}, "must contain the word 'json'"),
                ({"stream": True}, "Streaming")]:
            with self.subTest(change=change):
                error = self.refused(p, request({**OPENAI, **change}), 400, pattern)
                self.assertEqual(error["type"], "invalid_request_error")
        self.refused(p, request(b"{not json"), 400, "could not parse")
        self.refused(p, request(b'"\xff"'), 400, "could not parse")
        self.refused(p, request(OPENAI, headers={"Content-Type": "text/plain"}), 400, "content type")
        self.refused(p, request(OPENAI, "/v1/completions"), 404, "Invalid URL")
        self.refused(p, request(b"", method="GET"), 405, "Not allowed")
        with self.assertRaises(AssertionError):
            p.assert_clean()

    def test_openai_key(self):
        p = self.provider("x", key="sk-1")
        self.refused(p, request(OPENAI), 401, "API key")
        error = self.refused(p, request(OPENAI, headers={"Authorization": "Bearer no"}), 401, "Incorrect API key")
        self.assertEqual(error["code"], "invalid_api_key")
        self.assertEqual(self.ask(p, request(OPENAI, headers={"Authorization": "Bearer sk-1"}))[0], 200)

    def test_reasoning(self):
        p = self.provider("x", reasoning=True)
        error = self.refused(p, request(OPENAI), 400, "'max_tokens' is not supported with this model. "
                                                      "Use 'max_completion_tokens' instead")
        self.assertEqual((error["param"], error["code"]), ("max_tokens", "unsupported_parameter"))
        body = {k: v for k, v in OPENAI.items() if k != "max_tokens"}
        body["max_completion_tokens"] = 100
        error = self.refused(p, request(body), 400, "'temperature' is not supported with this model")
        self.assertEqual(error["param"], "temperature")
        p.reasoning = "value"
        error = self.refused(p, request(body), 400, r"does not support 0.1 with this model. Only the default \(1\)")
        self.assertEqual(error["code"], "unsupported_value")
        p.reasoning = True
        del body["temperature"]
        self.assertEqual(self.ask(p, request(body))[0], 200)

    def test_models(self):
        p = self.provider("x", models=["other"])
        self.assertEqual(self.refused(p, request(OPENAI), 404, "does not exist")["code"], "model_not_found")
        self.assertEqual(self.refused(p, anthropic(), 404, "model: ")["type"], "not_found_error")

    def test_anthropic(self):
        p = self.provider("x")
        user, assistant = {"role": "user", "content": "u"}, {"role": "assistant", "content": "a"}
        mark = {"type": "text", "text": "t", "cache_control": {"type": "ephemeral"}}
        for change, pattern in [
                ({"max_tokens": None}, "max_tokens"), ({"max_tokens": 0}, "max_tokens"), ({"model": 1}, "model"),
                ({"messages": []}, "at least one"), ({"messages": [assistant]}, 'first message must use the "user" role'),
                ({"messages": [user, user]}, "roles must alternate"),
                ({"messages": [{"role": "system", "content": "s"}, user]}, 'Unexpected role "system"'),
                ({"messages": [{"role": "user", "content": ""}]}, "non-empty content"),
                ({"messages": [user, {"role": "assistant", "content": "a "}]}, "trailing whitespace"),
                ({"system": 5}, "system"), ({"system": [{"type": "text", "text": ""}]}, "non-empty"),
                ({"system": [{**mark, "cache_control": "yes"}]}, "cache_control"),
                ({"system": [mark] * 5}, "maximum of 4 blocks"), ({"temperature": 1.5}, "temperature"),
                ({"max_completion_tokens": 1}, "Extra inputs"), ({"stream": True}, "stream")]:
            with self.subTest(change=change):
                error = self.refused(p, anthropic({**ANTHROPIC, **change}), 400, pattern)
                self.assertEqual(error["type"], "invalid_request_error")
        for name in ("max_tokens", "model", "messages"):
            self.refused(p, anthropic({k: v for k, v in ANTHROPIC.items() if k != name}), 400, f"{name}: Field required")
        self.refused(p, anthropic(anthropic_version=None), 400, "anthropic-version: header is required")
        self.refused(p, anthropic(anthropic_version="2020-01-01"), 400, "anthropic-version")
        error = self.refused(p, anthropic(x_api_key=None), 401, "x-api-key header is required")
        self.assertEqual(error["type"], "authentication_error")
        self.assertEqual(self.ask(p, anthropic({**ANTHROPIC, "system": [mark] * 4}))[0], 200)

    def test_anthropic_key(self):
        p = self.provider("x", key="right")
        self.refused(p, anthropic(), 401, "invalid x-api-key")
        self.assertEqual(self.ask(p, anthropic(x_api_key="right"))[0], 200)

    def test_not_http(self):
        p = self.provider("x")
        for data in (b"hello\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
                     b"POST / HTTP/1.1\r\nContent-Length : 1\r\n\r\n"):
            s = Socket(p).send(data)
            self.assertTrue(s.rest().startswith(b"HTTP/1.1 400 "))
            s.close()
        self.assertEqual(len(p.trouble), 3)


class Many(Base):
    def test_many_held_at_once(self):
        count = 300
        p = self.provider("x")
        p.hold()
        sockets = [Socket(p).send(request(OPENAI)) for _ in range(count)]
        p.wait_for_calls(count)
        self.assertEqual(p.in_flight, count)
        threading.Thread(target=p.release).start()
        for s in sockets:
            self.assertEqual(s.reply()[0], 200)
            s.close()
        self.assertEqual(p.max_in_flight, count)


class Program(Base):
    def test_command_line(self):
        child = subprocess.Popen([sys.executable, os.path.join(HERE, "provider.py"), "--port", "0", "--reply", "echo",
                                  "--delay", "0.05"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            line = child.stdout.readline()
            self.assertRegex(line, r"^listening on http://127\.0\.0\.1:\d+/v1$")

            class Place:
                port = int(line.rsplit(":", 1)[1].split("/")[0])
            body = self.ask(Place)[2]
            self.assertEqual(body["choices"][0]["message"]["content"], "GET /x")
        finally:
            child.send_signal(signal.SIGTERM)
            _, err = child.communicate(timeout=20)
        self.assertEqual(child.returncode, 0)
        self.assertIn("1 calls, at most 1 at once", err)


if __name__ == "__main__":
    tap.main()
