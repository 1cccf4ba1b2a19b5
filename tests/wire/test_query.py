# SPDX-License-Identifier: Apache-2.0
"""Queries of many pairs: answered as long as the request fits its limits, and forgotten when their caller leaves."""

import signal

from wire import Case, cassette, shown

from mirage import Raw, raw
import tap


def request(query):
    return b"GET /q?" + query + b" HTTP/1.1\r\nHost: x\r\n\r\n"


def pairs(count):
    return b"&".join(b"k%d=v" % i for i in range(count))


class ManyPairs(Case):
    def test_answered(self):
        m, p = self.serve()
        for query in (pairs(10), pairs(340), pairs(400), pairs(900), b"&" * 8000):
            with self.subTest(bytes=len(query)):
                self.assertEqual(200, raw(m.address(), request(query), 1)[0].status)
        self.assertEqual(900, len(shown(p.calls[3])["query"]))
        self.assertEqual(5, len(cassette(m, n=5)))

    def test_callers_that_leave_hold_up_no_stop(self):
        m, _ = self.serve(top="limits: {drain: 2s}", dep="engines: [cassette]\ncassette: {mode: replay}")
        for _ in range(50):
            caller = Raw(m.address())
            caller.send(request(pairs(700)))
            caller.close()
        self.assertEqual(0, m.stop(signal.SIGTERM, 10))


if __name__ == "__main__":
    tap.main()
