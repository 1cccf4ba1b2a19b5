# SPDX-License-Identifier: Apache-2.0
"""The model behind the whole program: failures of every kind, repairs, counts, what a provider is sent."""

import json
import pathlib
import time

from wire import SLOW, Case, Table, cassette, get, header, metric, post, request_bytes, value, yaml

from mirage import Raw
from provider import Reply
import tap

WIRES = ("openai", "anthropic")
GOOD = {"status": 200, "body": {"good": True}}
KEY = "sk-test-0123456789abcdef"


class Failures(Case):
    def each(self, *replies, model="retries: 1", then=GOOD, **options):
        """(wire, server, provider) for both wires, the provider having these replies for its next calls."""
        for wire in WIRES:
            m, p = self.serve(Table(default=then), wire=wire, model=model, **options)
            p.queue(*[make() for make in replies])
            yield m, p

    def test_retried(self):
        for name, reply in [("429", lambda: Reply.error(429)), ("500", lambda: Reply.error(500)),
                            ("529", lambda: Reply.error(529)),
                            ("503", lambda: Reply.error(503)), ("nothing", lambda: Reply.cut("nothing")),
                            ("headers", lambda: Reply.cut("headers")), ("body", lambda: Reply.cut("body")),
                            ("reset", lambda: Reply.cut("body", reset=True)), ("half", lambda: Reply.short())]:
            with self.subTest(name):
                m, p = self.serve(Table(default=GOOD), model="retries: 1")
                p.queue(reply())
                reply = get(m.url() + "/x")
                self.assertEqual((200, {"good": True}, 2), (reply[0], value(reply), len(p.calls)))
                self.assertEqual((1, 1), (metric(m, "mirage_llm_retries_total"), metric(m, "mirage_llm_calls_total")))

    def test_retry_after(self):
        for m, p in self.each(lambda: Reply.error(429, retry_after=2)):
            self.assertEqual(200, get(m.url() + "/x")[0])
            first, second = p.calls
            self.assertTrue(1.9 < second.time - first.time < 4 * SLOW, second.time - first.time)

    def test_given_up(self):
        for status in (429, 500, 529):
            for m, p in self.each(*[lambda s=status: Reply.error(s, "the provider's own words")] * 2):
                sentence = self.assertError(post(m.url() + "/x"), 502, str(status))
                self.assertIn("the provider's own words", sentence)
                self.assertEqual(2, len(p.calls))
                self.assertEqual([], cassette(m))
                self.assertEqual({"good": True}, value(post(m.url() + "/y")))     # the history is as it was before
                self.assertEqual(1, len(p.calls[-1].messages))

    def test_not_retried(self):
        for status in (400, 401, 403, 404):
            for m, p in self.each(lambda s=status: Reply.error(s, "the provider's own words"), model="retries: 3"):
                self.assertError(get(m.url() + "/x"), 500, f"{status}.*the provider's own words")
                self.assertEqual(1, len(p.calls))

    def test_timeout(self):
        for stall in (lambda: Reply().hold(), lambda: Reply.stall("headers"), lambda: Reply.stall("body")):
            for m, p in self.each(stall, model="retries: 0, timeout: 400ms"):
                begun = time.monotonic()
                self.assertError(get(m.url() + "/x"), 504, "did not answer within 0.4 s")
                self.assertLess(time.monotonic() - begun, 3 * SLOW)
                p.wait_for_cancelled(1)
                self.assertEqual(200, get(m.url() + "/y")[0])

    def test_nobody_there(self):
        p = self.provider()
        port = p.port
        p.close()
        m = self.mirage(yaml(p, model="retries: 0"))
        self.assertError(get(m.url() + "/x"), 502, f"127.0.0.1:{port}|connect")

    def test_odd_replies(self):
        for name, reply in [("not JSON", Reply.invalid_json), ("empty", Reply.empty),
                            ("no choices", Reply.no_choices),
                            ("list", lambda: Reply(body="[]")),
                            ("html", lambda: Reply(body="<html>", headers={"Content-Type": "text/html"})),
                            ("content null", lambda: Reply(body='{"choices":[{"message":{"content":null}}],"content":null}')),
                            ("too large", lambda: Reply.huge(17 << 20))]:
            with self.subTest(name):
                m, p = self.serve(Table(default=GOOD), model="retries: 0")
                p.queue(reply(), *([reply()] if name in ("no choices", "content null") else []))
                got = get(m.url() + "/x", timeout=60 * SLOW)
                self.assertIn(got[0], (500, 502), got)
                self.assertTrue(header(got[1], "mirage-error"))
                p.clear()
                self.assertEqual(200, get(m.url() + "/y")[0])


class Repairs(Case):
    def test_one_repair_with_the_exact_error(self):
        for wire in WIRES:
            for bad, words in [("Sorry, no.", "holds no JSON object"), ("", "empty"), ('{"status": 99}', '"status"'),
                               ('{"body": 1}', '"status"'), ('{"status": 200, "extra": 1}', 'unknown member "extra"'),
                               ('{"status": 200, "headers": {"a b": "1"}}', 'header name "a b"'),
                               ('{"status": 200,}', "not valid JSON"),
                               ('{"status": 200} {"status": 201}', "not valid JSON"),
                               ('{"status": 200, "body_base64": "%%"}', "base64"), ("[1]", "JSON object")]:
                with self.subTest(wire=wire, bad=bad):
                    m, p = self.serve(Table(default=GOOD), wire=wire)
                    p.queue(Reply(bad))
                    reply = post(m.url() + "/x", {"q": 1})
                    self.assertEqual((200, {"good": True}), (reply[0], value(reply)))
                    first, second = p.calls
                    self.assertEqual((first.system, first.messages), (second.system, second.messages[:1]))
                    self.assertEqual(("assistant", bad or "(nothing)"), second.messages[1])
                    self.assertIn(words, second.last)
                    post(m.url() + "/y")      # the history has the good answer alone
                    self.assertEqual([("assistant", '{"status":200,"body":{"good":true}}')],
                                     [x for x in p.calls[2].messages if x[0] == "assistant"])
                    self.assertEqual(1, metric(m, "mirage_llm_repairs_total"))
                    self.assertEqual(2, len(cassette(m, n=2)))

    def test_twice_bad(self):
        for wire in WIRES:
            with self.subTest(wire):
                m, p = self.serve({"/x": "no JSON, line\none"}, wire=wire)
                post(m.url() + "/first")
                self.assertError(post(m.url() + "/x"), 500, "no usable reply, twice: the answer holds no JSON object")
                self.assertEqual(3, len(p.calls))
                post(m.url() + "/last")
                self.assertEqual(3, len(p.calls[-1].messages))      # /first and its reply, /last
                self.assertEqual(["/first", "/last"], [line["req"]["path"] for line in cassette(m, n=2)])

    def test_fenced_and_wrapped(self):
        body = {"text": "with ``` and } inside", "n": 1}
        text = json.dumps({"status": 201, "body": body})
        for shape in (text, f"```json\n{text}\n```", f"```\n{text}\n```\n",
                      f"Here it is:\n```json\n{text}\n```\nHope this helps!",
                      f"Reply: {text}", f"\n\n {text} \n", f"{text}\nDone."):
            m, p = self.serve(Table(default=shape))
            reply = get(m.url() + "/x")
            self.assertEqual((201, body), (reply[0], value(reply)), shape)
            self.assertEqual(1, len(p.calls))

    def test_cut_by_length_is_doubled(self):
        for wire in WIRES:
            with self.subTest(wire):
                m, p = self.serve(Table(default=GOOD), wire=wire, model="max_tokens: 300")
                p.queue(Reply('{"status": 200, "body": {"te', finish="length"))
                self.assertEqual({"good": True}, value(get(m.url() + "/x")))
                self.assertEqual([300, 600], [c.body["max_tokens"] for c in p.calls])
                self.assertEqual(p.calls[0].messages, p.calls[1].messages)
                self.assertEqual(0, metric(m, "mirage_llm_repairs_total"))
                p.queue(*[Reply('{"status": 200, "body": {"te', finish="length") for _ in range(2)])
                self.assertError(get(m.url() + "/y"), 500, "max_tokens|length|cut")
                self.assertEqual(4, len(p.calls))

    def test_unsure(self):
        m, p = self.serve({"/x": {"unsure": "the source does not\r\nsay"}})
        self.assertError(post(m.url() + "/x"), 500, "unsure: the source does not  ?say")
        self.assertEqual(([], 1), (cassette(m), len(p.calls)))
        post(m.url() + "/y")
        self.assertEqual(1, len(p.calls[-1].messages))


class Sent(Case):
    def test_openai(self):
        m, p = self.serve(model="key_env: T_KEY", env={"T_KEY": KEY}, keys={"key": KEY})
        self.assertEqual(200, get(m.url() + "/x")[0])
        call = p.calls[0]
        self.assertEqual(("/v1/chat/completions", f"Bearer {KEY}"), (call.path, call.headers["authorization"]))
        self.assertEqual({"model": "m", "temperature": 0.1, "max_tokens": 2048},
                         {k: v for k, v in call.body.items() if k != "messages"})
        p.assert_clean()

    def test_anthropic(self):
        m, p = self.serve(wire="anthropic", model="key_env: T_KEY", env={"T_KEY": KEY}, keys={"key": KEY})
        for i in range(3):
            self.assertEqual(200, get(m.url() + f"/{i}")[0])
        call = p.calls[-1]
        self.assertEqual(("/v1/messages", KEY), (call.path, call.headers["x-api-key"]))
        (block,) = call.body["system"]
        self.assertEqual({"type": "ephemeral"}, block["cache_control"])
        self.assertEqual((0.1, 2048), (call.body["temperature"], call.body["max_tokens"]))
        p.assert_clean()

    def test_reasoning_models(self):
        for keys in ({"reasoning": True}, {"reasoning": "value"}):
            m, p = self.serve(model="temperature: none, max_completion_tokens: 500", keys=keys)
            self.assertEqual(200, get(m.url() + "/x")[0])
            self.assertEqual({"model": "m", "max_completion_tokens": 500},
                             {k: v for k, v in p.calls[0].body.items() if k != "messages"})
        m, p = self.serve(keys={"reasoning": True})
        self.assertError(get(m.url() + "/x"), 500, "400.*max_completion_tokens")

    def test_json_mode(self):
        m, p = self.serve(model="response_format: json_object")
        self.assertEqual(200, get(m.url() + "/x")[0])
        self.assertEqual({"type": "json_object"}, p.calls[0].body["response_format"])

    def test_a_model_of_its_own(self):
        p, q = self.provider(), self.provider()
        text = yaml(p, names=("inventory", "payment")) + f"    model: {{name: big, base_url: '{q.base_url}', temperature: 0.7}}\n"
        m = self.mirage(text)
        get(m.url("inventory") + "/x")
        get(m.url("payment") + "/x")
        self.assertEqual([("m", 0.1)], [(c.model, c.body["temperature"]) for c in p.calls])
        self.assertEqual([("big", 0.7)], [(c.model, c.body["temperature"]) for c in q.calls])

    def test_tokens_are_counted(self):
        for wire in WIRES:
            with self.subTest(wire):
                m, p = self.serve(lambda c: Reply.json(GOOD, tokens=(1000, 800, 7), delay=0.05), wire=wire)
                for i in range(3):
                    get(m.url() + f"/{i}")
                p.queue(Reply("bad", tokens=(100, 0, 1)))
                get(m.url() + "/3")
                counts = {k: metric(m, "mirage_llm_tokens_total", kind=k) for k in ("in", "cached", "out")}
                self.assertEqual({"in": 4100, "cached": 3200, "out": 29}, counts)
                self.assertGreaterEqual(metric(m, "mirage_llm_seconds_total"), 0.2)
                self.assertEqual([[1000, 800, 7]] * 3 + [[1100, 800, 8]],
                                 [line["by"]["tokens"] for line in cassette(m, n=4)])
                m.close()
                self.assertRegex(m.last_stderr, r"5 model calls, 4100 tokens in \(3200 cached\), 29 out, \d+\.\d s")

    def test_the_key_is_never_told(self):
        for wire in WIRES:
            with self.subTest(wire):
                m, p = self.serve(wire=wire, model="key_env: T_KEY, retries: 0", env={"T_KEY": KEY}, args=("-v",),
                                  keys={"key": "another"})
                replies = [get(m.url() + "/x")]
                self.assertEqual(1, len(p.refused))
                p.key = KEY
                p.queue(Reply.error(500, f"your key {KEY} is odd"))
                replies += [get(m.url() + "/y"), get(m.url() + "/z"), get(m.url() + "/__mock__/log"),
                            get(m.control + "/metrics")]
                self.assertEqual([500, 502, 200, 200, 200], [r[0] for r in replies])
                m.stop()
                told = str(replies) + m.stderr_text() + m.stdout_text()
                told += "".join(f.read_text() for f in pathlib.Path(m.folder).rglob("*") if f.is_file())
                self.assertNotIn(KEY, told)

    def test_no_key(self):
        """A provider's own address needs a key, and its absence is told before anything is sent."""
        m, p = self.serve(model="key_env: T_KEY", keys={"key": KEY}, env={"T_KEY": None})
        self.assertError(get(m.url() + "/x"), 500, "T_KEY")

    def test_concurrency(self):
        m, p = self.serve(model="concurrency: 3")
        p.hold()
        clients = [Raw(m.address(), timeout=20 * SLOW).send(request_bytes("/x",
                headers=[("mirage-session", f"s{i}")])) for i in range(10)]
        p.wait_for_calls(3, 10 * SLOW)
        p.release()
        self.assertEqual([200] * 10, [c.response("POST").status for c in clients])
        self.assertEqual(3, p.max_in_flight)
        for c in clients:
            c.close()


if __name__ == "__main__":
    tap.main()
