# SPDX-License-Identifier: Apache-2.0
"""Clients that people use: curl, Node's fetch, Python's http.client on one connection."""

import http.client
import json
import shutil
import subprocess
import textwrap
import unittest

from wire import SLOW, Case, Table, shown

import tap

CURL, NODE = shutil.which("curl"), shutil.which("node")
REPLIES = {"/none": {"status": 204}, "/moved": {"status": 302, "headers": {"Location": "/target"}},
           "/text": {"status": 200, "headers": {"content-type": "text/plain"}, "body": "línea"},
           "/png": {"status": 200, "headers": {"content-type": "image/png"}, "body_base64": "iVBOR/8A"},
           "/cookies": {"status": 200, "headers": {"Set-Cookie": ["a=1", "b=2"]}, "body": {}},
           "/teapot": {"status": 418, "body": {"error": "short and stout"}}}


@unittest.skipUnless(CURL, "curl is not installed")
class Curl(Case):
    def setUp(self):
        self.m, self.p = self.serve(REPLIES)

    def curl(self, path, *args, stdin=None):
        """(status, body)"""
        done = subprocess.run([CURL, "-sS", "--noproxy", "*", "-m", str(20 * SLOW), "-w", "\n%{http_code}", *args,
                               self.m.url() + path], input=stdin, capture_output=True)
        self.assertEqual((0, b""), (done.returncode, done.stderr))
        body, _, status = done.stdout.rpartition(b"\n")
        return int(status), body

    def test_plain(self):
        self.assertEqual((200, b'{"n":1}'), self.curl("/items?tag=a&tag=b"))
        self.assertEqual({"method": "GET", "path": "/items", "query": {"tag": ["a", "b"]}}, shown(self.p.calls[0]))
        self.assertEqual((418, b'{"error":"short and stout"}'), self.curl("/teapot"))
        self.assertEqual((204, b""), self.curl("/none"))
        self.assertEqual((200, "línea".encode()), self.curl("/text"))
        self.assertEqual((200, b"\x89PNG\xff\0"), self.curl("/png"))

    def test_head_and_options(self):
        status, head = self.curl("/items", "-I")
        self.assertEqual(200, status)
        self.assertIn(b"Content-Length: 7", head)
        self.assertEqual(200, self.curl("/items", "-X", "OPTIONS")[0])
        self.assertEqual(["HEAD", "OPTIONS"], [shown(c)["method"] for c in self.p.calls])

    def test_uploads(self):
        self.curl("/form", "--data-urlencode", "a=1 2", "-d", "b=&")
        self.assertEqual("a=1+2&b=&", shown(self.p.calls[-1])["body_text"].replace("%20", "+"))
        self.curl("/json", "--json", '{"q": 1.50}')
        self.assertIn('"body":{"q":1.50}', self.p.calls[-1].last)
        self.curl("/files", "-F", "f=@-;filename=a.txt", "-F", "k=v", stdin=b"hello")
        self.assertIn("hello", shown(self.p.calls[-1])["body_text"])
        self.assertIn("multipart/form-data; boundary=", shown(self.p.calls[-1])["headers"]["content-type"])
        self.curl("/chunked", "-T", "-", "-H", "Expect: 100-continue", stdin=b"y" * 300_000)
        self.assertEqual(("PUT", "y" * 300_000), tuple(shown(self.p.calls[-1])[k] for k in ("method", "body_text")))

    def test_redirect_on_one_connection(self):
        self.assertEqual((200, b'{"n":2}'), self.curl("/moved", "-L"))
        self.assertEqual(["/moved", "/target"], [shown(c)["path"] for c in self.p.calls])

    def test_too_large(self):
        m, p = self.serve(top="limits: {body: 1KiB}")
        self.m = m
        status, body = self.curl("/big", "-d", "@-", stdin=b"x" * 2_000_000)
        self.assertEqual(413, status)
        self.assertIn("limits.body", json.loads(body)["error"])
        self.assertEqual([], p.calls)


@unittest.skipUnless(NODE, "node is not installed")
class Node(Case):
    def test_fetch(self):
        m, p = self.serve(REPLIES)
        script = textwrap.dedent("""
            const base = process.argv[1];
            const out = [];
            const note = async r => out.push([r.status, Object.fromEntries(r.headers), await r.text()]);
            (async () => {
                await note(await fetch(base + '/a%2Fb?x=1&x=2'));
                await note(await fetch(base + '/json', {method: 'POST', body: '{"a": 1.0}',
                                                        headers: {'content-type': 'application/json', 'x-t': '1'}}));
                await note(await fetch(base + '/none', {method: 'DELETE'}));
                await note(await fetch(base + '/text'));
                const form = new FormData(); form.set('f', new Blob(['hello']), 'a.txt');
                await note(await fetch(base + '/form', {method: 'POST', body: form}));
                const stream = new ReadableStream({start(c) { c.enqueue(new TextEncoder().encode('par'));
                                                             c.enqueue(new TextEncoder().encode('ts')); c.close(); }});
                await note(await fetch(base + '/stream', {method: 'PUT', body: stream, duplex: 'half'}));
                await note(await fetch(base + '/cookies', {method: 'HEAD'}));
                const cookies = (await fetch(base + '/cookies')).headers;
                out.push(cookies.getSetCookie ? cookies.getSetCookie() : cookies.get('set-cookie').split(', '));
                const png = await (await fetch(base + '/png')).arrayBuffer();
                out.push(Buffer.from(png).toString('base64'));
                out.push((await Promise.all([1, 2, 3, 4, 5].map(async i => (await fetch(base + '/all/' + i)).status))));
                console.log(JSON.stringify(out));
            })().catch(e => { console.error(e); process.exit(1); });
        """)
        done = subprocess.run([NODE, "-e", script, m.url()], capture_output=True, text=True, timeout=60 * SLOW)
        self.assertEqual(0, done.returncode, done.stderr)
        out = json.loads(done.stdout)
        self.assertEqual([200, 200, 204, 200, 200, 200, 200], [r[0] for r in out[:7]])
        self.assertEqual(['{"n":1}', '{"n":2}', "", "línea", '{"n":5}', '{"n":6}', ""], [r[2] for r in out[:7]])
        self.assertEqual(["a=1", "b=2"], out[7])
        self.assertEqual("iVBOR/8A", out[8])
        self.assertEqual([200] * 5, out[9])
        requests = [shown(c) for c in p.calls]
        self.assertEqual(("/a%2Fb", {"x": ["1", "2"]}), (requests[0]["path"], requests[0]["query"]))
        self.assertEqual("1", requests[1]["headers"]["x-t"])
        self.assertIn("hello", requests[4]["body_text"])
        self.assertEqual("parts", requests[5]["body_text"])


class HttpClient(Case):
    def test_one_connection(self):
        m, p = self.serve(REPLIES)
        connection = http.client.HTTPConnection(*m.address(), timeout=20 * SLOW)
        for method, path, body in [("GET", "/a", None), ("POST", "/b", b"x" * 100_000), ("HEAD", "/a", None),
                                   ("DELETE", "/none", None), ("PUT", "/c", iter([b"a", b"b"])),
                                   ("GET", "/png", None)]:
            connection.request(method, path, body, encode_chunked=method == "PUT",
                               headers={"Transfer-Encoding": "chunked"} if method == "PUT" else {})
            sock = connection.sock
            reply = connection.getresponse()
            reply.read()
            self.assertIn(reply.status, (200, 204))
            self.assertIs(sock, connection.sock, "the connection was closed")
        connection.close()
        self.assertEqual("ab", shown(p.calls[4])["body_text"])


if __name__ == "__main__":
    tap.main()
