# SPDX-License-Identifier: Apache-2.0
"""The model client against a real llama.cpp server. Opt-in, by three variables:

    MIRAGE_TEST_LLAMA_URL    such as http://127.0.0.1:18080/v1
    MIRAGE_TEST_LLAMA_KEY    its key; without it the server takes any
    MIRAGE_TEST_LLAMA_MODEL  the model's name, for servers that care

Any small model will do: what is looked at is the protocol, not what the model says.
"""
import json
import os
import pathlib
import sys
import unittest

from llm_client import CANCELLED, INVALID, OK, TOO_LARGE, Driver

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import tap  # noqa: E402

URL = os.environ.get("MIRAGE_TEST_LLAMA_URL", "")
SLOTS = 2


@unittest.skipUnless(URL, "MIRAGE_TEST_LLAMA_URL is not set: no llama.cpp server to talk to")
class Llama(unittest.TestCase):
    def setUp(self):
        key = os.environ.get("MIRAGE_TEST_LLAMA_KEY", "")
        driver = Driver(URL.rstrip("/"), {"LLAMA_KEY": key, "WRONG": "sk-wrong-0123456789"}, key_env="LLAMA_KEY",
                        name=os.environ.get("MIRAGE_TEST_LLAMA_MODEL", "local"), timeout_ms=240000, max_tokens=24,
                        temperature=0, concurrency=8)
        self.driver = self.enterContext(driver)

    def test_text(self):
        result = self.driver.ask("Say hello.", system="You are brief.", on_cut="report")
        self.assertEqual((OK, 1, 0), tuple(result[k] for k in ("code", "calls", "retries")), result)
        self.assertTrue(result["text"].strip())
        self.assertTrue(result["reply_id"])
        self.assertGreater(result["tokens"][0], 0)
        self.assertGreater(result["tokens"][2], 0)

    def test_json_schema(self):
        schema = json.dumps({"type": "object", "properties": {"status": {"type": "integer", "enum": [200, 404]}},
                             "required": ["status"], "additionalProperties": False})
        result = self.driver.ask("Answer in JSON: is the item there?", json=True, schema=schema, max_tokens=200,
                                 model={"response_format": 1})
        self.assertEqual(OK, result["code"], result)
        self.assertIn(json.loads(result["text"]), ({"status": 200}, {"status": 404}))

    def test_json_mode(self):
        result = self.driver.ask("Answer with a JSON object.", json=True, on_cut="report",
                                 model={"response_format": 1})
        self.assertEqual(OK, result["code"], result)
        if not result["cut"]:
            self.assertIsInstance(json.loads(result["text"]), dict)
        else:
            self.assertTrue(result["text"].lstrip()[:1] in ("", "{"), result)

    def test_bad_schema(self):
        result = self.driver.ask("JSON", json=True, schema='{"type": "nonsense"}', model={"response_format": 1})
        self.assertEqual((INVALID, 0), (result["code"], result["retries"]), result)
        self.assertIn("the provider answered 400: ", result["message"])

    def test_prompt_over_the_context(self):
        result = self.driver.ask("word " * 40000)
        self.assertEqual((TOO_LARGE, 0), (result["code"], result["retries"]), result)
        self.assertRegex(result["message"], r"the prompt has \d+ tokens and the model's context holds \d+")

    @unittest.skipUnless(os.environ.get("MIRAGE_TEST_LLAMA_KEY"), "the server takes any key")
    def test_wrong_key(self):
        result = self.driver.ask("Say hello.", model={"key_env": "WRONG"})
        self.assertEqual((INVALID, 0), (result["code"], result["retries"]), result)
        self.assertRegex(result["message"], r"the provider answered 401: .*\(check the variable WRONG\)")
        self.assertNotIn("sk-wrong", result["message"])

    def test_more_calls_than_slots(self):
        numbers = [self.driver.start(f"Count to {i + 3}.", on_cut="report") for i in range(3 * SLOTS)]
        for number in numbers:
            self.assertEqual(OK, self.driver.result(number)["code"])

    def test_cut_by_length(self):
        question = "Write a long story about the sea."
        reported = self.driver.ask(question, on_cut="report", max_tokens=8)
        self.assertEqual((OK, True, 8), (reported["code"], reported["cut"], reported["tokens"][2]), reported)
        doubled = self.driver.ask(question, max_tokens=8)
        self.assertEqual((TOO_LARGE, 2), (doubled["code"], doubled["calls"]), doubled)
        self.assertEqual(24, doubled["tokens"][2])

    def test_cancelled_under_way(self):
        number = self.driver.start("Write a long story about the sea.", max_tokens=2000)
        self.driver.cancel(number)
        self.assertEqual(CANCELLED, self.driver.result(number)["code"])
        self.assertEqual(OK, self.driver.ask("Say hello.", on_cut="report")["code"])


if __name__ == "__main__":
    tap.main()
