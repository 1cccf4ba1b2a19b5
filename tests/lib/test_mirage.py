# SPDX-License-Identifier: Apache-2.0
"""The runner and its HTTP clients, against a stand-in program and canned bytes."""

import contextlib
import io
import os
import signal
import socket
import sys
import threading
import unittest

import tap
from mirage import FramingError, Mirage, Raw, address_of, header, http, raw

HERE = os.path.dirname(os.path.abspath(__file__))
STANDIN = f"{sys.executable} {os.path.join(HERE, 'standin.py')}"
YAML = "dependencies:\n  - name: inventory\n"


def standin(how="", **options):
    return Mirage(YAML, binary=STANDIN, env={"STANDIN": how}, **options)


class Runner(unittest.TestCase):
    def test_start_and_stop(self):
        with standin(files={"service/a.py": "x = 1\n"}) as m:
            self.assertEqual(m.ready["pid"], m.pid)
            self.assertEqual(m.control, m.url("inventory"))
            self.assertEqual(m.names, ["inventory"])
            self.assertEqual(address_of(m.url()), m.address("inventory"))
            self.assertEqual(m.read("service/a.py"), "x = 1\n")
            self.assertGreater(m.rss_kb, 0)
            self.assertGreater(m.start_seconds, 0)
            status, headers, body = http("GET", m.url() + "/a")
            self.assertEqual((status, header(headers, "content-type")), (500, "application/json"))
            with self.assertRaises(KeyError):
                m.url("other")
            folder = m.folder
            self.assertTrue(os.path.exists(m.config_path))
        self.assertEqual(m.exit_code, 0)
        self.assertFalse(os.path.exists(folder))

    def test_hup_and_stderr(self):
        with standin() as m:
            m.hup()
            self.assertTrue(m.wait_stderr("re(load)ed", timeout=10))
            seen = len(m.stderr_text())
            with self.assertRaisesRegex(AssertionError, "no 'reloaded' on standard error"):
                m.wait_stderr("reloaded", timeout=0.05, after=seen)
            m.hup()
            m.wait_stderr("reloaded", timeout=10, after=seen)
            self.assertEqual(m.stop(signal.SIGUSR1), 0)

    def test_does_not_start(self):
        with self.assertRaisesRegex(AssertionError, r"(?s)not ready.*ended with 2.*expected right"):
            standin("refuse").start()
        with self.assertRaisesRegex(AssertionError, r"still running after \d+ s"):
            standin("never", timeout=1).start()

    def test_end_is_checked(self):
        with self.assertRaisesRegex(AssertionError, "ERROR: AddressSanitizer"):
            with standin("asan"):
                pass
        with self.assertRaisesRegex(AssertionError, "exit code 3, expected 0"):
            with standin("three"):
                pass
        with standin("three", status=3):
            pass
        with standin("three", status=None) as m:
            self.assertEqual(m.stop(), 3)
        with self.assertRaisesRegex(AssertionError, r"still running 0.2 s after"):
            with standin("stubborn") as m:
                m.stop(timeout=0.2)
        with self.assertRaisesRegex(AssertionError, "exit code -9"):
            with standin() as m:
                m.kill()

    def test_the_first_failure_is_seen(self):
        with contextlib.redirect_stderr(io.StringIO()) as err:
            with self.assertRaisesRegex(ValueError, "mine"):
                with standin("asan"):
                    raise ValueError("mine")
        self.assertIn("AddressSanitizer", err.getvalue())

    def test_pieces_are_read_apart(self):
        with standin() as m:
            request = b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
            [response] = raw(m.address(), [request[i:i + 1] for i in range(len(request))], n=1)
            self.assertEqual(response.status, 500)
            self.assertEqual(response.json(), {"error": "not in the cassette"})
            two = raw(m.address(), b"GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n"
                                   b"Connection: close\r\n\r\n")
            self.assertEqual([r.framing for r in two], ["length", "length"])


class Canned(unittest.TestCase):
    """Responses that a server of fixed bytes gives."""

    def serve(self, data, reset=False):
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)

        def run():
            peer, _ = listener.accept()
            self.got = peer.recv(65536)
            peer.sendall(data)
            if not reset:
                peer.shutdown(socket.SHUT_WR)
                while peer.recv(65536):
                    pass
            peer.close()
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return listener.getsockname()

    def get(self, data, n=None, methods=None):
        return raw(self.serve(data), b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", n, methods)

    def test_framings(self):
        [r] = self.get(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nA: 1\r\na: 2\r\n\r\nhi")
        self.assertEqual((r.status, r.reason, r.body, r.all("a"), r.framing), (200, "OK", b"hi", ["1", "2"], "length"))
        with self.assertRaises(AssertionError):
            r.header("a")
        [r] = self.get(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x\r\nhi\r\n1\r\n!\r\n0\r\nT: v\r\n\r\n")
        self.assertEqual((r.body, r.trailers, r.framing), (b"hi!", [("T", "v")], "chunked"))
        [r] = self.get(b"HTTP/1.0 200 OK\r\n\r\nall of it")
        self.assertEqual((r.body, r.framing, r.version), (b"all of it", "close", "HTTP/1.0"))
        two = self.get(b"HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n")
        self.assertEqual([r.framing for r in two], ["none", "none"])
        [r] = self.get(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", methods=["HEAD"])
        self.assertEqual((r.body, r.framing), (b"", "none"))
        [r] = self.get(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")
        self.assertEqual(r.status, 201)
        self.assertEqual(self.get(b""), [])

    def test_wrong_framings(self):
        for data, pattern in [
                (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhi", "2 of 5 bytes"),
                (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi there", "the end inside the status line"),
                (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nhi", "more than one framing"),
                (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n", "more than one framing"),
                (b"HTTP/1.1 204 No\r\nContent-Length: 0\r\n\r\n", "announced with 204"),
                (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "no number"),
                (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n", "the end inside"),
                (b"HTTP/1.1 200 OK\nA: b\r\n\r\n", "bare line break"), (b"HTTP/1.1 200 OK\r\nA : b\r\n\r\n", "header line"),
                (b"nonsense\r\n\r\n", "status line")]:
            with self.subTest(data=data), self.assertRaisesRegex(FramingError, pattern):
                self.get(data)
        with self.assertRaisesRegex(FramingError, "bytes after the last"):
            self.get(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi there", n=1)
        with self.assertRaisesRegex(FramingError, "closed after 1 of 2"):
            self.get(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", n=2)

    def test_closed(self):
        with Raw(self.serve(b"")) as c:
            self.assertTrue(c.send(b"x").closed())
        with Raw(self.serve(b"y")) as c:
            self.assertFalse(c.send(b"x").closed())
        listener = socket.create_server(("127.0.0.1", 0))
        with listener, Raw(listener.getsockname()) as c:
            self.assertFalse(c.closed(0.05))
            self.assertFalse(c.send(b"x").wait_read(0.05))

    def test_http_sends_what_it_is_given(self):
        place = self.serve(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\nhi")
        status, headers, body = http("PUT", f"http://127.0.0.1:{place[1]}/a/../b%2Fc?x=1&x=2#f", {"q": 1},
                                     [("X-A", "1"), ("X-A", "2")])
        self.assertEqual((status, body), (200, b"hi"))
        self.assertEqual([v for k, v in headers if k == "Set-Cookie"], ["a", "b"])
        head = self.got.split(b"\r\n\r\n")[0].split(b"\r\n")
        self.assertEqual(head[0], b"PUT /a/../b%2Fc?x=1&x=2#f HTTP/1.1")
        self.assertEqual(head[2:], [b"X-A: 1", b"X-A: 2", b"Content-Type: application/json", b"Content-Length: 8"])


if __name__ == "__main__":
    tap.main()
