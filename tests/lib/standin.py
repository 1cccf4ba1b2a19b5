# SPDX-License-Identifier: Apache-2.0
"""A stand-in for the `mirage` program, just enough of it to test the test tools themselves.

`serve -c F --ready-file R [--mode replay]` listens on a free port. With a `base_url` in the configuration it
asks that provider for each reply and keeps the replies in `cassettes/` beside the configuration; in replay
it answers from there. The variable STANDIN picks a misbehaviour.
"""

import http.server
import json
import os
import re
import signal
import sys
import threading
import urllib.parse
import urllib.request

how = os.environ.get("STANDIN", "")
arguments = dict(zip(sys.argv[2::2], sys.argv[3::2]))
folder = os.path.dirname(os.path.abspath(arguments["-c"]))
cassette = os.path.join(folder, "cassettes", "all.json")
with open(arguments["-c"], encoding="utf-8") as f:
    config = f.read()
base = re.search(r"base_url: (\S+)", config)
known = {}
if os.path.exists(cassette):
    with open(cassette, encoding="utf-8") as f:
        known = json.load(f)


def ask(method, path):
    key = f"{method} {path}"
    if base and arguments.get("--mode") != "replay":
        plain, _, query = path.partition("?")
        asked = {"method": method, "path": plain, **({"query": dict(urllib.parse.parse_qsl(query))} if query else {})}
        message = {"role": "user", "content": json.dumps(asked, separators=(",", ":"))}
        request = urllib.request.Request(
            f"{base[1]}/chat/completions", json.dumps({"model": "m", "messages": [message]}).encode(),
            {"Content-Type": "application/json"})
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as reply:
            known[key] = json.loads(json.load(reply)["choices"][0]["message"]["content"])
    return known.get(key, {"status": 500, "body": {"error": "not in the cassette"}})


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def answer(self):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        reply = ask(self.command, self.path)
        data = json.dumps(reply["body"], separators=(",", ":")).encode()
        self.send_response(reply["status"])
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_DELETE = answer

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 1024
    daemon_threads = True
    block_on_close = False


if how == "refuse":
    print("mirage: mirage.yaml:1: wrong; expected right", file=sys.stderr)
    sys.exit(2)
signals = {signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1}
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
server = Server(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}"
ready = json.dumps({"pid": os.getpid(), "control": url, "dependencies": [{"name": "inventory", "http": url}]})
if how != "never":
    with open(arguments["--ready-file"], "w", encoding="utf-8") as f:
        f.write(ready[:20])     # not whole at first
        f.flush()
        f.write(ready[20:])
while True:
    got = signal.sigwait(signals)
    if got == signal.SIGHUP:
        print("reloaded", file=sys.stderr, flush=True)
    elif got == signal.SIGUSR1:
        sys.exit(0)
    elif how != "stubborn":
        break
if base:
    os.makedirs(os.path.dirname(cassette), exist_ok=True)
    with open(cassette, "w", encoding="utf-8") as f:
        json.dump(known, f)
if how == "asan":
    print("==1==ERROR: AddressSanitizer: heap-use-after-free", file=sys.stderr)
sys.exit(3 if how == "three" else 0)
