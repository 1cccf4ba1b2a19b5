# SPDX-License-Identifier: Apache-2.0
"""Each kind of difference is found, and nothing else is."""

import json
import unittest

import support
import tap

from compare import Comparison
from scenario import Reply

ID = {"path": "body.$..id", "kind": "id", "pattern": "x_[0-9]+"}


def reply(body, status=200, **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    text = body if isinstance(body, str) else json.dumps(body)
    return Reply(status, {"content-type": "application/json"} | named, text)


class Compare(unittest.TestCase):
    def check(self, real, simulated, expected, dynamic=()):
        found = Comparison(list(dynamic)).differences(real, simulated)
        self.assertEqual([line.partition(":")[0] for line in found], expected, found)

    def test_equal(self):
        body = {"a": [1, 2.5, "x", None, True, {"b": {}}]}
        self.check(reply(body), reply(dict(reversed(body.items()))), [])

    def test_status(self):
        self.check(reply({}), reply({}, 201), ["status"])

    def test_keys(self):
        self.check(reply({"a": 1}), reply({"b": 1}), ["body.a", "body.b"])

    def test_json_kinds(self):
        for real, simulated in ((1, 1.0), (1, True), (0, False), ("1", 1), (None, 0), ([], {})):
            self.check(reply({"a": real}), reply({"a": simulated}), ["body.a"])

    def test_values(self):
        for real, simulated in ((1, 2), (1.5, 1.6), ("a", "b"), (True, False)):
            self.check(reply([{"a": real}]), reply([{"a": simulated}]), ["body[0].a"])

    def test_arrays(self):
        self.check(reply([1, 2]), reply([1]), ["body"])
        self.check(reply([1, 2]), reply([2, 1]), ["body[0]", "body[1]"])

    def test_text(self):
        self.check(reply("plain text"), reply("plain text"), [])
        self.check(reply("plain text"), reply("plain"), ["body"])
        self.check(reply({}), reply("plain"), ["body"])
        self.check(reply(""), reply({}), ["body"])

    def test_headers(self):
        self.check(reply({}, location="/a"), reply({}), ["header.location"])
        self.check(reply({}), reply({}, location="/a"), ["header.location"])
        self.check(reply({}), reply({}, mirage_source="llm"), [])
        self.check(reply({}, location="/a"), reply({}, location="/b"), ["header.location"])
        self.check(reply({}, date="a", server="b", connection="c", content_length="1"),
                   reply({}, date="z"), [])
        self.check(reply({}), reply({}, content_type="text/plain"), ["header.content-type"])
        self.check(reply({}), reply({}, content_type="application/json; charset=utf-8"), [])

    def test_dynamic_form(self):
        self.check(reply({"id": "x_1"}), reply({"id": "x_2"}), [], [ID])
        self.check(reply({"id": "x_1"}), reply({"id": "y_2"}), ["body.id"], [ID])
        self.check(reply({"id": "x_1"}), reply({"id": 2}), ["body.id"], [ID])
        self.check(reply({"id": "x_1"}), reply({"id": None}), ["body.id"], [ID])
        self.check(reply({"id": None}), reply({"id": None}), [], [ID])
        self.check(reply({"a": "x_1"}), reply({"a": "x_2"}), ["body.a"], [ID])
        token = {"path": "body.t", "kind": "token"}
        self.check(reply({"t": "a"}), reply({"t": ""}), ["body.t"], [token])
        self.check(reply({"u": {"t": "a"}}), reply({"u": {"t": "b"}}), ["body.u.t"], [token])

    def test_time(self):
        rule = {"path": "body.$..at", "kind": "time"}
        self.check(reply([{"at": 1}, {"at": 1}]), reply([{"at": 5}, {"at": 6}]), [], [rule])
        self.check(reply({"at": 1}), reply({"at": "5"}), ["body.at"], [rule])

    def test_ids_stand_for_one_another(self):
        two = reply([{"id": "x_1"}, {"id": "x_2"}])
        self.check(two, reply([{"id": "x_8"}, {"id": "x_9"}]), [], [ID])
        self.check(two, reply([{"id": "x_8"}, {"id": "x_8"}]), ["body[1].id"], [ID])
        same = reply([{"id": "x_1"}, {"id": "x_1"}])
        self.check(same, reply([{"id": "x_8"}, {"id": "x_9"}]), ["body[1].id"], [ID])

    def test_ids_are_remembered_and_found_inside_texts(self):
        comparison = Comparison([ID])
        self.assertEqual(comparison.differences(reply({"id": "x_1"}, location="/a/x_1"),
                                                reply({"id": "x_7"}, location="/a/x_7")), [])
        self.assertEqual(comparison.differences(reply({"m": "no x_1 here"}),
                                                reply({"m": "no x_7 here"})), [])
        for real, simulated in (({"m": "no x_1"}, {"m": "no x_1"}), ({"id": "x_1"}, {"id": "x_8"}),
                                ({"id": "x_2"}, {"id": "x_7"})):
            self.assertEqual(len(comparison.differences(reply(real), reply(simulated))), 1)


if __name__ == "__main__":
    tap.main()
