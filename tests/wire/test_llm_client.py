# SPDX-License-Identifier: Apache-2.0
"""The model client against a scripted provider: wire format, retries, cut replies, cancelling, memory."""
import hashlib
import pathlib
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from llm_client import (CANCELLED, INTERNAL, INVALID, KEY, OK, TIMEOUT, TOO_LARGE, UNAVAILABLE, Driver, Script)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import tap  # noqa: E402
from provider import Provider, Reply, echo  # noqa: E402

WIRES = ("openai", "anthropic")


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


class Conversation(unittest.TestCase):
    def test_both_formats(self):
        with Provider(lambda c: Reply("  pong\n", tokens=(30, 20, 3), id="r-1", model="gpt-test-2"),
                      key=KEY) as provider, Driver(provider.base_url) as driver:
            for wire in WIRES:
                with self.subTest(wire):
                    result = driver.ask("ping", "pong", "again \"é\"", system="be\tbrief", model={"provider": wire})
                    self.assertEqual((OK, "  pong\n", "r-1", "gpt-test-2", [30, 20, 3], 1, 0, False),
                                     tuple(result[k] for k in ("code", "text", "reply_id", "model", "tokens",
                                                               "calls", "retries", "cut")), result)
                    self.assertEqual(sha('system: be\tbrief\nuser: ping\nassistant: pong\nuser: again "é"'),
                                     result["prompt_hash"])
                    self.assertEqual(sha("pong"), result["text_hash"])
                    call = provider.calls[-1]
                    self.assertEqual(wire, call.wire)
                    self.assertEqual("be\tbrief", call.system)
                    self.assertEqual([("user", "ping"), ("assistant", "pong"), ("user", 'again "é"')],
                                     call.messages)
                    self.assertEqual(str(len(call.raw)), call.headers["content-length"])
                    self.assertNotIn("expect", call.headers)
            provider.assert_clean()

    def test_cache_creation_counts_as_input(self):
        with Provider(lambda c: Reply("x", tokens=(100, 60, 1), written=30)) as provider, \
                Driver(provider.base_url, provider="anthropic") as driver:
            self.assertEqual([100, 60, 1], driver.ask("ping")["tokens"])

    def test_keys(self):
        with Provider(echo) as provider, Driver(provider.base_url, {"EMPTY": "", "WRAPPED": "sk-1\nX-A: b"}) as driver:
            self.assertEqual(OK, driver.ask("ping", model={"key_env": None})["code"])
            self.assertNotIn("authorization", provider.calls[-1].headers)
            self.assertEqual(OK, driver.ask("ping", model={"key_env": "EMPTY"})["code"])
            self.assertNotIn("authorization", provider.calls[-1].headers)
            before = provider.count
            for name in ("ABSENT", "WRAPPED"):
                result = driver.ask("ping", model={"key_env": name})
                self.assertEqual((INVALID, False), (result["code"], result["started"]))
                self.assertIn(f"the variable {name}", result["message"])
            self.assertEqual(before, provider.count)

    def test_keys_do_not_cross(self):
        with Provider(echo) as provider, Driver(provider.base_url, {"OTHER": "sk-other"}) as driver:
            numbers = [driver.start(key, model={"key_env": key}) for key in ("TEST_KEY", "OTHER") * 20]
            self.assertTrue(all(driver.result(n)["code"] == OK for n in numbers))
            self.assertEqual({("TEST_KEY", f"Bearer {KEY}"), ("OTHER", "Bearer sk-other")},
                             {(c.last, c.headers["authorization"]) for c in provider.calls})

    def test_what_cannot_start(self):
        with Driver("http://127.0.0.1:9/v1") as driver:
            self.assertIn("model.name", driver.ask("ping", model={"name": None})["message"])
            self.assertIn("model.base_url", driver.ask("ping", model={"base_url": None})["message"])
            self.assertIn("needs a message", driver.ask()["message"])
            for url in ("file:///etc", "ftp://127.0.0.1/v1", "gopher://x", "http://[::1/v1"):
                result = driver.ask("ping", model={"base_url": url})
                self.assertEqual((INVALID, 0), (result["code"], result["retries"]), result)
                self.assertIn(f"no request can be sent to {url}", result["message"])

    def test_json_mode(self):
        schema = '{"type": "object"}'
        with Provider(echo) as provider, Driver(provider.base_url, response_format=1) as driver:
            self.assertEqual(OK, driver.ask("json", json=True)["code"])
            self.assertEqual({"type": "json_object"}, provider.calls[-1].body["response_format"])
            driver.ask("json", json=True, schema=schema)
            self.assertEqual({"name": "reply", "schema": {"type": "object"}},
                             provider.calls[-1].body["response_format"]["json_schema"])
            driver.ask("json")
            self.assertNotIn("response_format", provider.calls[-1].body)
            provider.assert_clean()

    def test_reasoning_models(self):
        with Provider(echo, reasoning=True) as provider, \
                Driver(provider.base_url, temperature=None, completion_tokens=1, max_tokens=77) as driver:
            self.assertEqual(OK, driver.ask("ping")["code"])
            self.assertEqual(77, provider.calls[-1].body["max_completion_tokens"])
            driver.ask("ping", max_tokens=5)
            self.assertEqual(5, provider.calls[-1].body["max_completion_tokens"])

    def test_connections_are_reused(self):
        with Provider(echo) as provider, Driver(provider.base_url) as driver:
            for _ in range(5):
                driver.ask("ping")
            self.assertEqual(1, provider.connections)
            provider.drop_connections()
            provider.wait_until(lambda: provider.open_connections == 0)
            big = "x" * 300_000
            result = driver.ask(big)
            self.assertEqual((OK, big), (result["code"], result["text"]))

    def test_a_body_is_sent_again_from_its_start(self):
        """A kept connection that ends under a request says nothing about it: curl sends it once more by itself."""
        with Provider() as provider, Driver(provider.base_url) as driver:
            provider.queue(Reply("first"), Reply.cut("nothing"), Reply("second"))
            driver.ask("ping")
            result = driver.ask("b" * 100_000, system="s" * 100_000)
            self.assertEqual((OK, "second", 0), tuple(result[k] for k in ("code", "text", "retries")))
            self.assertEqual(3, provider.count)
            self.assertEqual(provider.calls[1].raw, provider.calls[2].raw)

    def test_slow_and_chunked_bytes(self):
        with Provider() as provider, Driver(provider.base_url) as driver:
            provider.queue(Reply("dripped").drip(7, 0.001), Reply("in pieces").chunked(), Reply("last").closing())
            self.assertEqual(["dripped", "in pieces", "last"], [driver.ask("ping")["text"] for _ in range(3)])

    def test_proxy_from_the_environment(self):
        with Provider(echo) as provider:
            proxy = provider.base_url.removesuffix("/v1")
            with Driver("http://model.example/v1", {"http_proxy": proxy}) as driver:
                self.assertEqual(OK, driver.ask("ping")["code"])
                self.assertEqual("http://model.example/v1/chat/completions", provider.calls[-1].path)


class Concurrency(unittest.TestCase):
    def test_limit_and_order(self):
        with Provider(echo) as provider, Driver(provider.base_url, concurrency=2) as driver:
            provider.hold()
            numbers = [driver.start(f"m{i}") for i in range(8)]
            provider.wait_until(lambda: provider.in_flight == 2)
            provider.release()
            self.assertEqual([f"m{i}" for i in range(8)], [driver.result(n)["text"] for n in numbers])
            self.assertEqual(2, provider.max_in_flight)
            self.assertEqual({f"m{i}" for i in range(2)}, {c.last for c in provider.calls[:2]})

    def test_models_do_not_wait_for_each_other(self):
        with Provider(lambda c: Reply("held").hold() if c.model == "slow" else Reply("free")) as provider, \
                Driver(provider.base_url, concurrency=1) as driver:
            slow = driver.start("a", model={"name": "slow"})
            provider.wait_for_calls(1)
            self.assertEqual("free", driver.ask("b", model={"name": "fast"})["text"])
            provider.calls[0].release()
            self.assertEqual("held", driver.result(slow)["text"])

    def test_none_lost_none_crossed(self):
        with Provider(echo) as provider, Driver(provider.base_url, concurrency=50) as driver:
            numbers = {driver.start(f"word {i}", system=f"system {i % 3}"): i for i in range(300)}
            for number, i in numbers.items():
                self.assertEqual(f"word {i}", driver.result(number)["text"])
            self.assertTrue(all(c.system == f"system {int(c.last.split()[1]) % 3}" for c in provider.calls))

    def test_memory_of_two_thousand(self):
        copies = 2000
        with Provider(echo) as provider, Driver(provider.base_url, concurrency=copies, timeout_ms=120000) as driver:
            system = "a long prompt " * 15000
            driver.ask("warm", system=system)
            before = driver.memory()["heap"]
            provider.hold()
            number = driver.start("x" * 200, system=system, copies=copies)
            provider.wait_until(lambda: provider.in_flight == copies, 120)
            each = (driver.memory()["heap"] - before) / copies
            provider.release()
            self.assertEqual(copies, driver.result(number)["good"])
            if before == 0:
                self.skipTest("under a sanitizer the heap is not counted")
            print(f"{each:.0f} bytes for each waiting call")
            self.assertLess(each, 35_000)     # the prompt alone has 210,000


class Retries(unittest.TestCase):
    def test_each_passing_trouble(self):
        troubles = {
            "r408": Reply.error(408), "r409": Reply.error(409), "r429": Reply.error(429), "r500": Reply.error(500),
            "r503": Reply.error(503, retry_after=0), "r529": Reply.error(529), "html": Reply(status=502, body="<html>"),
            "empty502": Reply.empty(502), "nothing": Reply.cut("nothing"), "status": Reply.cut("status"),
            "headers": Reply.cut("headers"), "body": Reply.cut("body"), "reset": Reply.cut("nothing", reset=True),
            "bodyreset": Reply.cut("body", reset=True), "short": Reply.short(), "empty": Reply.empty(),
            "invalid": Reply.invalid_json(), "nochoices": Reply.no_choices(), "stall": Reply.stall("body"),
            "silent": Reply.stall("nothing"),
            "inside": Reply(body={"error": {"code": 503, "message": "upstream is busy"}}),
        }
        for wire in WIRES:
            script = Script(**{key: [reply, f"good {key}"] for key, reply in troubles.items()})
            with self.subTest(wire), Provider(script) as provider, \
                    Driver(provider.base_url, provider=wire, timeout_ms=1500, concurrency=100) as driver:
                numbers = {key: driver.start(key) for key in troubles}
                for key, number in numbers.items():
                    result = driver.result(number)
                    self.assertEqual((OK, f"good {key}", 1, 1),
                                     (result["code"], result["text"], result["calls"], result["retries"]), result)
                    self.assertEqual(2, len(script.calls[key]), key)
                    self.assertEqual(script.calls[key][0].raw, script.calls[key][1].raw)

    def test_what_is_not_retried(self):
        refusals = {f"r{status}": Reply.error(status, f"no {status}.") for status in (400, 401, 403, 404, 413, 422)}
        refusals["quota"] = Reply.error(429, "You exceeded your quota", error_type="insufficient_quota")
        refusals["moved"] = Reply(status=302, body="", headers={"Location": "/v1/elsewhere"})
        with Provider(Script(**refusals)) as provider, Driver(provider.base_url) as driver:
            numbers = {key: driver.start(key) for key in refusals}
            results = {key: driver.result(number) for key, number in numbers.items()}
            self.assertEqual(len(refusals), provider.count)
            for key, result in results.items():
                self.assertEqual((TOO_LARGE if key == "r413" else INVALID, 0, 0, ""),
                                 (result["code"], result["retries"], result["calls"], result["text_hash"]), result)
            self.assertEqual("the provider answered 401: no 401 (check the variable TEST_KEY)",
                             results["r401"]["message"])
            self.assertIn("redirects are not followed", results["moved"]["message"])

    def test_no_more_than_asked(self):
        with Provider(lambda c: Reply.error(503, "Loading model", retry_after=0)) as provider, \
                Driver(provider.base_url, retries=2) as driver:
            result = driver.ask("ping")
            self.assertEqual((UNAVAILABLE, 2, 0), (result["code"], result["retries"], result["calls"]))
            self.assertEqual("the provider answered 503: Loading model (after 3 attempts)", result["message"])
            self.assertEqual(3, provider.count)
            result = driver.ask("ping", model={"retries": 0})
            self.assertEqual("the provider answered 503: Loading model", result["message"])
            self.assertEqual(4, provider.count)

    def test_retry_after_is_waited_for(self):
        script = Script(seconds=[Reply.error(429, retry_after=1), "good"],
                        date=[Reply.error(429, retry_after=3, retry_date=True), "good"])
        with Provider(script) as provider, Driver(provider.base_url) as driver:
            numbers = [driver.start("seconds"), driver.start("date")]
            for number, key, least, most in zip(numbers, ("seconds", "date"), (1.0, 2.0), (2.5, 5.0)):
                self.assertEqual(OK, driver.result(number)["code"])
                first, second = script.calls[key]
                self.assertGreaterEqual(second.time - first.time, least)
                self.assertLess(second.time - first.time, most)
                self.assertGreaterEqual(driver.result(number)["ms"], least * 1000)

    def test_backing_off_holds_no_place(self):
        script = Script(slow=[Reply.error(429, retry_after=2), "slow"], quick="quick")
        with Provider(script) as provider, Driver(provider.base_url, concurrency=1) as driver:
            slow = driver.start("slow")
            provider.wait_for_replies(1)
            quick = driver.result(driver.start("quick"))
            self.assertEqual("slow", driver.result(slow)["text"])
            self.assertLess(quick["on_time"], driver.result(slow)["on_time"])

    def test_unreadable_replies_are_asked_for_once(self):
        with Provider(lambda c: Reply.invalid_json()) as provider, Driver(provider.base_url) as driver:
            result = driver.ask("ping")
            self.assertEqual((INTERNAL, 1), (result["code"], result["retries"]))
            self.assertIn("the provider answered 200, but not in the openai format: it is no JSON", result["message"])
            self.assertEqual(2, provider.count)

    def test_timeout(self):
        with Provider(lambda c: Reply.stall("nothing")) as provider, \
                Driver(provider.base_url, timeout_ms=300, retries=1) as driver:
            result = driver.ask("ping")
            self.assertEqual((TIMEOUT, 1), (result["code"], result["retries"]))
            self.assertEqual(f"the provider at {provider.base_url} did not answer within 0.3 s (after 2 attempts)",
                             result["message"])

    def test_refused_connection(self):
        with socket.socket() as spare:
            spare.bind(("127.0.0.1", 0))      # bound, not listening: refused
            url = f"http://user:hidden@127.0.0.1:{spare.getsockname()[1]}/v1"
            with Driver(url, retries=1) as driver:
                result = driver.ask("ping")
        self.assertEqual((UNAVAILABLE, 1), (result["code"], result["retries"]))
        self.assertIn("could not be reached", result["message"])
        self.assertNotIn("hidden", result["message"])

    def test_echoed_keys_are_masked(self):
        with Provider(lambda c: Reply.error(401, f"Incorrect API key provided: {KEY}. Find yours at x")) as provider, \
                Driver(provider.base_url) as driver:
            for wire in WIRES:
                self.assertEqual("the provider answered 401: Incorrect API key provided: [key]. Find yours at x "
                                 "(check the variable TEST_KEY)",
                                 driver.ask("ping", model={"provider": wire})["message"])

    def test_size_limit(self):
        with Provider(lambda c: Reply.huge(int(c.last))) as provider, Driver(provider.base_url) as driver:
            self.assertEqual(8 << 20, len(driver.ask(str(8 << 20))["text"]))
            result = driver.ask(str(17 << 20))
            self.assertEqual((TOO_LARGE, 0), (result["code"], result["retries"]))
            self.assertIn("larger than 16777216 bytes", result["message"])

    def test_context_exceeded(self):
        error = {"error": {"code": 400, "message": "the request exceeds the available context size",
                           "type": "exceed_context_size_error", "n_prompt_tokens": 9001, "n_ctx": 4096}}
        with Provider(Reply(status=400, body=error)) as provider, Driver(provider.base_url) as driver:
            result = driver.ask("ping")
            self.assertEqual(TOO_LARGE, result["code"])
            self.assertIn("the prompt has 9001 tokens and the model's context holds 4096", result["message"])

    @unittest.skipUnless(shutil.which("openssl"), "openssl is not installed")
    def test_untrusted_certificate(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
                            "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", f"{folder}/key.pem",
                            "-out", f"{folder}/cert.pem"], check=True, capture_output=True)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(f"{folder}/cert.pem", f"{folder}/key.pem")
        with socket.create_server(("127.0.0.1", 0)) as server:
            def serve():
                try:
                    while True:
                        with server.accept()[0] as connection:
                            try:
                                context.wrap_socket(connection, server_side=True)
                            except OSError:
                                pass
                except OSError:
                    pass
            threading.Thread(target=serve, daemon=True).start()
            with Driver(f"https://127.0.0.1:{server.getsockname()[1]}/v1") as driver:
                result = driver.ask("ping")
            server.shutdown(socket.SHUT_RDWR)
        self.assertEqual((UNAVAILABLE, 0), (result["code"], result["retries"]))
        self.assertIn("the certificate of the provider at https://127.0.0.1", result["message"])


class Cut(unittest.TestCase):
    def limits(self, provider):
        return [c.body["max_tokens"] for c in provider.calls]

    def test_doubled_once(self):
        for wire in WIRES:
            with self.subTest(wire), Provider() as provider, \
                    Driver(provider.base_url, provider=wire, max_tokens=100) as driver:
                provider.queue(Reply('{"a": ', finish="length", tokens=(5, 0, 100)), Reply('{"a": 1}', tokens=(5, 4, 8)))
                result = driver.ask("json", json=True)
                self.assertEqual((OK, '{"a": 1}', False, 2, 0, [10, 4, 108]),
                                 tuple(result[k] for k in ("code", "text", "cut", "calls", "retries", "tokens")))
                self.assertEqual([100, 200], self.limits(provider))
                provider.assert_clean()

    def test_cut_twice(self):
        with Provider(Reply("half", finish="length")) as provider, \
                Driver(provider.base_url, max_tokens=100) as driver:
            result = driver.ask("ping")
            self.assertEqual((TOO_LARGE, 2), (result["code"], result["calls"]))
            self.assertEqual("the reply was cut at 100 tokens, and again at 200 (raise model.max_tokens)",
                             result["message"])
            result = driver.ask("ping", max_tokens=65536)
            self.assertEqual((TOO_LARGE, 1), (result["code"], result["calls"]))
            self.assertIn("cut at 65536 tokens, the most", result["message"])

    def test_double_refused(self):
        with Provider() as provider, Driver(provider.base_url, max_tokens=100) as driver:
            provider.queue(Reply("half", finish="length"), Reply.error(400, "max_tokens is too large: 200."))
            result = driver.ask("ping")
            self.assertEqual(TOO_LARGE, result["code"])
            self.assertEqual("the reply was cut at 100 tokens, and a limit of 200 was refused: the provider answered "
                             "400: max_tokens is too large: 200", result["message"])

    def test_doubling_starts_the_retries_anew(self):
        with Provider() as provider, Driver(provider.base_url, retries=1) as driver:
            busy = Reply.error(503, retry_after=0)
            provider.queue(busy, Reply("half", finish="length"), busy, Reply("whole"))
            result = driver.ask("ping")
            self.assertEqual((OK, "whole", 2, 2), tuple(result[k] for k in ("code", "text", "calls", "retries")))

    def test_reported(self):
        with Provider(Reply("half", finish="length")) as provider, Driver(provider.base_url) as driver:
            result = driver.ask("ping", on_cut="report")
            self.assertEqual((OK, "half", True, 1), tuple(result[k] for k in ("code", "text", "cut", "calls")))

    def test_continued(self):
        for wire in WIRES:
            with self.subTest(wire), Provider() as provider, \
                    Driver(provider.base_url, provider=wire, response_format=1) as driver:
                provider.queue(Reply('{"name": "Widget", "qua', finish="length"),
                               Reply('"name": "Widget", "quantity": [1, ', finish="length"), Reply("2]}"))
                result = driver.ask("json", system="s", json=True, on_cut="continue")
                self.assertEqual((OK, '{"name": "Widget", "quantity": [1, 2]}', False, 3),
                                 tuple(result[k] for k in ("code", "text", "cut", "calls")))
                roles = [[role for role, _ in c.messages] for c in provider.calls]
                self.assertEqual([["user"], ["user", "assistant", "user"], ["user", "assistant", "user"]], roles)
                self.assertEqual('{"name": "Widget", "quantity": [1, ', provider.calls[2].messages[1][1])
                self.assertIn("Continue exactly where it stopped", provider.calls[2].last)
                self.assertEqual([wire == "openai", False, False], ["response_format" in c.body for c in provider.calls])
                self.assertEqual(sha("system: s\nuser: json\nassistant: " + provider.calls[2].messages[1][1] +
                                     "\nuser: " + provider.calls[2].last), result["prompt_hash"])
                provider.assert_clean()

    def test_continued_to_the_ceiling(self):
        answer = [Reply(f"piece {i}, ", finish="length", tokens=(1, 0, 30000)) for i in range(5)]
        with Provider() as provider, Driver(provider.base_url) as driver:
            provider.queue(*answer)
            result = driver.ask("ping", on_cut="continue")
            self.assertEqual((OK, "piece 0, piece 1, piece 2, ", True),
                             tuple(result[k] for k in ("code", "text", "cut")))

    def test_continued_with_nothing_yet(self):
        """A model that thought away all of its tokens is given twice as many."""
        with Provider() as provider, Driver(provider.base_url, provider="anthropic", max_tokens=100) as driver:
            provider.queue(Reply(" \n", finish="length"), Reply("part, ", finish="length"), Reply("end"))
            result = driver.ask("ping", on_cut="continue")
            self.assertEqual((OK, "part, end", 3), tuple(result[k] for k in ("code", "text", "calls")))
            self.assertEqual([100, 200, 200], self.limits(provider))
            provider.assert_clean()

    def test_an_endless_provider_is_left(self):
        with Provider(Reply("", finish="length", tokens=(0, 0, 0))) as provider, \
                Driver(provider.base_url) as driver:
            self.assertEqual(TOO_LARGE, driver.ask("ping", on_cut="continue")["code"])
            provider.answer = Reply("abc ", finish="length", tokens=(0, 0, 0))
            result = driver.ask("ping", on_cut="continue")
            self.assertEqual((OK, True, "abc " * 64), tuple(result[k] for k in ("code", "cut", "text")))

    def test_withheld(self):
        with Provider(Reply("", finish="content_filter")) as provider, Driver(provider.base_url) as driver:
            for wire, why in zip(WIRES, ("content_filter", "refusal")):
                result = driver.ask("ping", model={"provider": wire})
                self.assertEqual((INVALID, f"the provider withheld the reply: {why}", 1),
                                 tuple(result[k] for k in ("code", "message", "calls")))


class Cancel(unittest.TestCase):
    def test_in_flight(self):
        with Provider(lambda c: Reply("late").hold()) as provider, Driver(provider.base_url) as driver:
            number = driver.start("ping")
            provider.wait_for_calls(1)
            driver.cancel(number)
            driver.cancel(number)
            result = driver.result(number)
            self.assertEqual((CANCELLED, "the call was cancelled"), (result["code"], result["message"]))
            provider.wait_for_cancelled(1)

    def test_in_the_queue(self):
        with Provider(echo) as provider, Driver(provider.base_url, concurrency=1) as driver:
            provider.hold()
            first, second, third = (driver.start(f"m{i}") for i in range(3))
            provider.wait_for_calls(1)
            driver.cancel(second)
            result = driver.result(second)
            self.assertEqual((CANCELLED, "", 0), (result["code"], result["prompt_hash"], result["ms"]))
            provider.release()
            self.assertEqual(["m0", "m2"], [driver.result(n)["text"] for n in (first, third)])
            self.assertEqual(2, provider.count)

    def test_while_backing_off(self):
        with Provider(lambda c: Reply.error(429, retry_after=25)) as provider, Driver(provider.base_url) as driver:
            begun = time.monotonic()
            number = driver.start("ping")
            provider.wait_for_replies(1)
            driver.cancel(number)
            result = driver.result(number)
            self.assertEqual(CANCELLED, result["code"])
            self.assertLess(time.monotonic() - begun, 10)

    def test_at_once(self):
        with Provider(echo) as provider, Driver(provider.base_url, concurrency=3) as driver:
            numbers = [driver.start(f"m{i}") for i in range(200)]
            for number in numbers:
                driver.cancel(number)
            codes = [driver.result(n)["code"] for n in numbers]
            self.assertLessEqual(set(codes), {OK, CANCELLED})
            self.assertIn(CANCELLED, codes)

    def test_at_the_end(self):
        with Provider(lambda c: Reply.error(429, retry_after=25) if c.last == "again" else
                      Reply("late").hold()) as provider, Driver(provider.base_url, concurrency=2) as driver:
            numbers = {driver.start(word) for word in ("again", "held", "held", "queued", "queued")}
            provider.wait_until(lambda: len([c for c in provider.calls if c.last == "held"]) == 2)
            rest = driver.stop()
            self.assertEqual(numbers, {line["id"] for line in rest})
            self.assertEqual({CANCELLED}, {line["code"] for line in rest})
            provider.wait_for_cancelled(2)


if __name__ == "__main__":
    tap.main()
