# SPDX-License-Identifier: Apache-2.0
"""200 concurrent requests in 50 sessions with a slow provider: none lost, none crossed, the order kept in each."""

import json
import random
import threading

from wire import SLOW, Case, cassette, metric, post, request_bytes, shown, sockets, until

from mirage import Raw
from provider import Reply, request_in
import tap

SESSIONS, EACH = 50, 4


class Load(Case):
    def slow(self, call):
        """Says back what it was asked, after a while that differs, so that whatever can overtake does."""
        request = shown(call)
        return Reply.json({"status": 200, "body": {"path": request["path"], "q": request["body"]["q"]}},
                          delay=self.random.uniform(0.01, 0.2))

    def check(self, m, p):
        clients = [[Raw(m.address(), timeout=60 * SLOW) for _ in range(EACH)] for _ in range(SESSIONS)]
        for i in range(EACH):               # all are under way before the first answers are read
            for s in range(SESSIONS):
                fields = [("mirage-session", f"s{s}"), ("Content-Type", "application/json")]
                clients[s][i].send(request_bytes(f"/s{s}/{i}", body=json.dumps({"q": s * 100 + i}).encode(),
                                                 headers=fields))
                clients[s][i].wait_read(0.05) if i < EACH - 1 else None
        replies = [[c.response("POST") for c in row] for row in clients]
        for s, row in enumerate(replies):
            for i, reply in enumerate(row):
                self.assertEqual(200, reply.status)
                self.assertEqual({"path": f"/s{s}/{i}", "q": s * 100 + i}, reply.json())
        for row in clients:
            for c in row:
                c.close()
        return [call for call in p.calls]

    def test_200_in_50(self):
        self.random = random.Random(7)
        m, p = self.serve(self.slow, model="concurrency: 32")
        calls = self.check(m, p)
        self.assertEqual(SESSIONS * EACH, len(calls))
        self.assertLessEqual(p.max_in_flight, 32)
        self.assertGreater(p.max_in_flight, 16)
        seen = {}
        for call in calls:
            paths = [request_in(text)["path"] for role, text in call.messages if role == "user"]
            session = paths[-1].split("/")[1]
            # The history of this session, whole and in the order in which its requests came, and of no other.
            self.assertEqual(seen.get(session, []), paths[:-1])
            seen[session] = paths
            for (_, asked), (_, said) in zip(call.messages[::2], call.messages[1::2]):
                self.assertEqual(request_in(asked)["path"], json.loads(said)["body"]["path"])
        self.assertEqual({f"s{s}": [f"/s{s}/{i}" for i in range(EACH)] for s in range(SESSIONS)}, seen)
        until(lambda: len(cassette(m)) == SESSIONS * EACH, "all is recorded")
        p.answer = None
        p.clear()
        for s in range(SESSIONS):
            post(m.url() + "/__mock__/reset", None, [("mirage-session", f"s{s}")])
        self.check(m, p)                    # and replayed: nobody is asked
        self.assertEqual(0, len(p.calls))
        self.assertEqual(SESSIONS * EACH, metric(m, "mirage_requests_total", source="cassette"))

    def test_mixed_with_control(self):
        """Requests, callers that leave, resets, logs and reloads at once: all ends, and nothing stays behind."""
        self.random = random.Random(8)
        m, p = self.serve(self.slow, model="concurrency: 32", dep="on_gone: drop")
        before = sockets(m)
        wrong = []

        def work(k):
            own = random.Random(k)
            try:
                for i in range(12):
                    fields = [("mirage-session", f"s{own.randrange(5)}"), ("Content-Type", "application/json")]
                    with Raw(m.address(), timeout=60 * SLOW) as c:
                        what = own.randrange(6)
                        if what < 3:
                            c.send(request_bytes(f"/{own.randrange(4)}", body=b'{"q":1}', headers=fields))
                            reply = c.response("POST")
                            if reply.status != 200:
                                wrong.append(reply)
                        elif what == 3:
                            c.send(request_bytes("/leaves", body=b'{"q":1}', headers=fields))
                        elif what == 4:
                            c.send(request_bytes("/__mock__/reset", headers=fields[:1]))
                            c.response("POST")
                        else:
                            c.send(request_bytes("/__mock__/log", "GET"))
                            c.response("GET")
            except Exception as error:      # noqa: BLE001 - told below
                wrong.append(error)
        threads = [threading.Thread(target=work, args=(k,)) for k in range(16)]
        for t in threads:
            t.start()
        for _ in range(5):
            m.hup()
        for t in threads:
            t.join()
        self.assertEqual([], wrong)
        until(lambda: sockets(m) <= before + 40 and p.in_flight == 0, "nothing is under way")


if __name__ == "__main__":
    tap.main()
