# SPDX-License-Identifier: Apache-2.0
"""Runs the real `mirage` for wire tests, and two HTTP clients to talk to it.

    with Mirage(yaml_text) as m:
        status, headers, body = http("POST", m.url("inventory") + "/items", {"name": "x"})
        replies = raw(m.address("inventory"), b"GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n", n=1)

`MIRAGE_BIN` is the command (default `mirage`), `MIRAGE_WRAP` what is put before it (valgrind …). When the
block is left the server must end with status 0 and without a sanitizer's report on standard error.
"""

import ctypes
import json
import os
import re
import select
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from http.client import HTTPConnection

REPORTS = ("ERROR: AddressSanitizer", "runtime error:", "WARNING: ThreadSanitizer", "LeakSanitizer")
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


class Watch:
    """Waits for changes in a folder (inotify) or for a process to end (pidfd), without sleeping."""

    EVENTS = 0x2 | 0x8 | 0x80 | 0x100     # modify, close after write, moved to, create

    def __init__(self, folder, pid):
        libc = ctypes.CDLL(None, use_errno=True)
        self.notify = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self.notify < 0 or libc.inotify_add_watch(self.notify, os.fsencode(folder), self.EVENTS) < 0:
            raise OSError(ctypes.get_errno(), "inotify", folder)
        self.process = os.pidfd_open(pid)

    def wait(self, timeout):
        """True when something changed; False when the process ended or the time is up."""
        ready, _, _ = select.select([self.notify, self.process], [], [], max(0, timeout))
        if self.notify in ready:
            os.read(self.notify, 1 << 16)
            return True
        return False

    def close(self):
        os.close(self.notify)
        os.close(self.process)


def clean_environment():
    """This environment without proxies, and without MIRAGE_ variables, which the program reads as configuration."""
    return {k: v for k, v in os.environ.items() if k not in PROXIES and not k.startswith("MIRAGE_")}


class Mirage:
    """One running server.

    config   the YAML text, or the path of a file (no line break in it), whose folder then stays the base of its
             relative paths
    args     further arguments after `serve`
    env      further environment; a value of None removes the variable
    files    {relative name: text or bytes} written beside the YAML
    folder   where to write it all; default: a temporary one, removed at the end
    timeout  seconds until ready and until stopped; ten times that under MIRAGE_WRAP
    status   the exit status that is expected at the end; None: any
    """

    def __init__(self, config, args=(), env=None, *, files=None, folder=None, timeout=20, status=0, binary=None):
        self.wrap = shlex.split(os.environ.get("MIRAGE_WRAP", ""))
        self.binary = shlex.split(binary or os.environ.get("MIRAGE_BIN", "mirage"))
        self.args = list(args)
        self.env = clean_environment()
        self.env.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")
        # What protoc compiled is kept between tests, but not among the user's own.
        self.env["XDG_CACHE_HOME"] = os.path.join(tempfile.gettempdir(), f"mirage-test-cache-{os.getuid()}")
        for name, value in (env or {}).items():
            if value is None:
                self.env.pop(name, None)
            else:
                self.env[name] = str(value)
        self.timeout = timeout * (10 if self.wrap else 1)
        self.status = status
        self.config = config
        self.files = files or {}
        self.folder = folder
        self.own_folder = folder is None
        self.process = None
        self.ready = None               # the ready file's document
        self.start_seconds = None       # from exec to ready
        self.exit_code = None

    # Life ------------------------------------------------------------------------------------------------

    def start(self):
        if self.own_folder:
            self.folder = tempfile.mkdtemp(prefix="mirage-test-")
        self.run = tempfile.mkdtemp(prefix="mirage-run-")
        for name, content in self.files.items():
            self.write(name, content)
        if "\n" in self.config:
            self.config_path = self.write("mirage.yaml", self.config)
        else:
            self.config_path = os.path.abspath(self.config)
        ready = os.path.join(self.run, "ready.json")
        self.command = [*self.wrap, *self.binary, "serve", "-c", self.config_path, "--ready-file", ready, *self.args]
        self.begun = time.monotonic()
        with open(self._path("stdout"), "wb") as out, open(self._path("stderr"), "wb") as err:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                            env=self.env, cwd=self.folder)
        try:
            self._await_ready(ready)
        except BaseException:
            self.kill()
            self._remove()
            raise
        return self

    def _path(self, name):
        return os.path.join(self.run, name)

    def _await_ready(self, path):
        def read():
            try:
                with open(path, encoding="utf-8") as f:
                    return json.load(f)
            except (FileNotFoundError, ValueError):    # not there, or not whole yet
                return None
        self.ready = self._wait(read, self.timeout, "not ready")
        self.start_seconds = time.monotonic() - self.begun

    def _wait(self, probe, timeout, what):
        """The first true value of probe(), asked whenever something in the run folder changes."""
        watch = Watch(self.run, self.process.pid)
        try:
            deadline = time.monotonic() + timeout
            while True:
                found = probe()
                if found:
                    return found
                if not watch.wait(deadline - time.monotonic()):
                    found = probe()
                    if found:
                        return found
                    code = self.process.poll()
                    why = f"ended with {code}" if code is not None else f"still running after {timeout} s"
                    raise AssertionError(f"{what}: {shlex.join(self.command)} {why}\n{self.stderr_text()}")
        finally:
            watch.close()

    def stop(self, signal=signal.SIGTERM, timeout=None):
        """Sends the signal, waits for the end and returns the exit code; a negative one is a signal's number."""
        if self.exit_code is None:
            if self.process.poll() is None:
                self.process.send_signal(signal)
            self.join(timeout)
        return self.exit_code

    def join(self, timeout=None):
        """Waits until the server has ended by itself; returns the exit code."""
        timeout = self.timeout if timeout is None else timeout
        if self.process.poll() is None:
            fd = os.pidfd_open(self.process.pid)
            ended = select.select([fd], [], [], timeout)[0]
            os.close(fd)
            if not ended:
                text = self.stderr_text()
                self.kill()
                raise AssertionError(f"still running {timeout} s after it was to end\n{text}")
        self.exit_code = self.process.wait()
        return self.exit_code

    def kill(self):
        """SIGKILL, without any check."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
        if self.process is not None:
            self.exit_code = self.process.wait()

    def hup(self):
        self.process.send_signal(signal.SIGHUP)

    def check(self):
        """After the end: the exit status, and no sanitizer report."""
        text = self.stderr_text()
        for report in REPORTS:
            if report in text:
                raise AssertionError(f"{report}\n{text}")
        if self.status is not None and self.exit_code != self.status:
            raise AssertionError(f"exit code {self.exit_code}, expected {self.status}\n{text}")

    def close(self):
        """Stops, checks, cleans up."""
        try:
            self.stop()
            self.check()
        finally:
            self.kill()
            self._remove()

    def _remove(self):
        self.last_stderr = self.stderr_text()
        shutil.rmtree(self.run, ignore_errors=True)
        if self.own_folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, value, trace):
        if kind is None:
            self.close()
            return
        # The test has failed already: show what the server said, and let that failure be the one that is seen.
        try:
            self.close()
        except AssertionError as error:
            print(f"# and then: {error}", file=sys.stderr)
        else:
            print(self.last_stderr, file=sys.stderr)

    # What there is ---------------------------------------------------------------------------------------

    @property
    def pid(self):
        return self.process.pid

    @property
    def control(self):
        """The control address as a URL, or None."""
        return self.ready.get("control")

    @property
    def names(self):
        return [d["name"] for d in self.ready["dependencies"]]

    def dependency(self, name=None):
        """The ready file's entry; without a name, of the first dependency."""
        for entry in self.ready["dependencies"]:
            if name in (None, entry["name"]):
                return entry
        raise KeyError(f"{name}; there are {self.names}")

    def url(self, name=None, wire="http"):
        """A dependency's URL without a slash at the end."""
        return self.dependency(name)[wire].rstrip("/")

    def address(self, name=None, wire="http"):
        """(host, port) of a dependency."""
        return address_of(self.url(name, wire))

    def write(self, name, content):
        """Writes a file beside the configuration (whole, by a rename); returns its path."""
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + ".new", "wb") as f:
            f.write(content if isinstance(content, bytes) else content.encode())
        os.replace(path + ".new", path)
        return path

    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as f:
            return f.read()

    def stderr_text(self):
        return self._output("stderr")

    def stdout_text(self):
        return self._output("stdout")

    def _output(self, name):
        try:
            with open(self._path(name), encoding="utf-8", errors="replace") as f:
                return f.read()
        except FileNotFoundError:
            return getattr(self, "last_stderr", "") if name == "stderr" else ""

    def wait_stderr(self, pattern, timeout=None, after=0):
        """Waits until standard error, from character `after` on, has the regular expression; returns the match."""
        return self._wait(lambda: re.compile(pattern).search(self.stderr_text(), after),
                          self.timeout if timeout is None else timeout, f"no {pattern!r} on standard error")

    @property
    def rss_kb(self):
        """Resident memory in KiB."""
        with open(f"/proc/{self.pid}/status", encoding="ascii") as f:
            return int(re.search(r"VmRSS:\s+(\d+)", f.read())[1])


def run_mirage(*args, env=None, stdin=None, cwd=None, timeout=60, binary=None):
    """Runs another command of the program; returns (exit code, stdout, stderr) as text."""
    wrap = shlex.split(os.environ.get("MIRAGE_WRAP", ""))
    command = [*wrap, *shlex.split(binary or os.environ.get("MIRAGE_BIN", "mirage")), *args]
    own = clean_environment()
    own.update(env or {})
    done = subprocess.run(command, input=stdin, stdin=subprocess.DEVNULL if stdin is None else None, cwd=cwd, env=own,
                          capture_output=True, text=True, errors="replace", timeout=timeout * (10 if wrap else 1))
    for report in REPORTS:
        if report in done.stderr:
            raise AssertionError(f"{report}\n{done.stderr}")
    return done.returncode, done.stdout, done.stderr


# Clients ---------------------------------------------------------------------------------------------------

def address_of(url):
    """(host, port) of a URL or of host:port."""
    place = url.split("://", 1)[-1].split("/", 1)[0]
    host, _, port = place.rpartition(":")
    return host.strip("[]"), int(port)


def http(method, url, body=None, headers=(), timeout=30):
    """One request by a well-behaved client: (status, [(name, value)], body bytes).

    The path goes out as it stands in the URL. A dict or list as body is sent as JSON. Headers are pairs and
    may repeat.
    """
    host, port = address_of(url)
    rest = url.split("://", 1)[-1]
    target = "/" + rest.split("/", 1)[1] if "/" in rest else "/"
    fields = list(headers.items() if isinstance(headers, dict) else headers)
    names = {name.lower() for name, _ in fields}
    if isinstance(body, (dict, list)):
        body = json.dumps(body)
        if "content-type" not in names:
            fields.append(("Content-Type", "application/json"))
    if isinstance(body, str):
        body = body.encode()
    if not names & {"content-length", "transfer-encoding"} and (body is not None or method in ("POST", "PUT", "PATCH")):
        fields.append(("Content-Length", str(len(body or b""))))
    connection = HTTPConnection(host, port, timeout=timeout)
    try:
        connection.putrequest(method, target, skip_host="host" in names, skip_accept_encoding=True)
        for name, value in fields:
            connection.putheader(name, value)
        connection.endheaders(body)
        response = connection.getresponse()
        return response.status, response.getheaders(), response.read()
    finally:
        connection.close()


def header(headers, name):
    """The value of a header in a list of pairs; None if absent, an error if it is there twice."""
    values = [v for k, v in headers if k.lower() == name.lower()]
    if len(values) > 1:
        raise AssertionError(f"{name} is there {len(values)} times: {values}")
    return values[0] if values else None


class FramingError(AssertionError):
    """What came is not a well-formed HTTP/1.1 response."""


class Response:
    """A parsed response: version, status, reason, headers (pairs), body, trailers, framing
    ('none', 'length', 'chunked' or 'close')."""

    def __init__(self, version, status, reason, headers):
        self.version, self.status, self.reason, self.headers = version, status, reason, headers
        self.body = b""
        self.trailers = []
        self.framing = None

    def header(self, name):
        return header(self.headers, name)

    def all(self, name):
        return [v for k, v in self.headers if k.lower() == name.lower()]

    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"<Response {self.status} {self.headers} {self.body[:200]!r}>"


class Raw:
    """A socket that can send any bytes and reads responses with exact framing."""

    def __init__(self, address, timeout=10):
        self.address = address_of(address) if isinstance(address, str) else address
        self.sock = socket.create_connection(self.address, timeout=timeout)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.timeout = timeout
        self.buffer = b""
        self.ended = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.sock.close()

    def reset(self):
        """Leaves with a RST."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def send(self, data):
        self.sock.sendall(data)
        return self

    def send_pieces(self, pieces, patience=1.0):
        """Sends each piece once the server has read the one before, so that it sees them apart. A server that
        does not read (it may have suspended the connection) is waited for `patience` seconds each time."""
        for i, piece in enumerate(pieces):
            if i:
                self.wait_read(patience)
            self.sock.sendall(piece)
        return self

    def wait_read(self, patience=1.0):
        """Waits until the server has read all that was sent (loopback only); False when it did not."""
        mine, its = self.sock.getsockname(), self.sock.getpeername()
        deadline = time.monotonic() + patience
        while True:
            queue = _receive_queue(its[1], mine[1])
            if queue in (0, None):
                return True
            if time.monotonic() > deadline:
                return False
            select.select([self.sock], [], [], 0.001)

    def shutdown(self):
        """Says that nothing more will be sent."""
        self.sock.shutdown(socket.SHUT_WR)
        return self

    def closed(self, timeout=None):
        """Waits for the server to close; True if it did so without sending another byte (a RST counts too)."""
        if self.buffer:
            return False
        self.sock.settimeout(self.timeout if timeout is None else timeout)
        try:
            self.buffer = self.sock.recv(1 << 16)
        except ConnectionResetError:
            pass
        except TimeoutError:
            return False
        finally:
            self.sock.settimeout(self.timeout)
        self.ended = not self.buffer
        return self.ended

    def _more(self):
        if self.ended:
            return False
        data = self.sock.recv(1 << 16)
        self.ended = not data
        self.buffer += data
        return bool(data)

    def _line(self, what):
        while b"\r\n" not in self.buffer:
            if not self._more():
                raise FramingError(f"the end inside {what}: {self.buffer[:500]!r}")
        line, _, self.buffer = self.buffer.partition(b"\r\n")
        if b"\n" in line or b"\r" in line:
            raise FramingError(f"a bare line break in {what}: {line!r}")
        return line

    def _exactly(self, n, what):
        while len(self.buffer) < n:
            if not self._more():
                raise FramingError(f"the end inside {what}: {len(self.buffer)} of {n} bytes")
        data, self.buffer = self.buffer[:n], self.buffer[n:]
        return data

    def _fields(self, what):
        fields = []
        while line := self._line(what):
            name, colon, value = line.partition(b":")
            if not colon or not re.fullmatch(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name):
                raise FramingError(f"not a header line: {line!r}")
            fields.append((name.decode("ascii"), value.strip(b" \t").decode("latin-1")))
        return fields

    def response(self, method="GET", interim=False):
        """The next response to a request of this method; None when the server closed before its first byte.
        Interim (1xx) responses are passed over unless asked for."""
        while True:
            if not self.buffer and not self._more():
                return None
            line = self._line("the status line")
            words = re.fullmatch(rb"(HTTP/1\.[01]) ([1-9]\d\d) ?(.*)", line)
            if not words:
                raise FramingError(f"not a status line: {line!r}")
            response = Response(words[1].decode(), int(words[2]), words[3].decode("latin-1"), self._fields("a head"))
            if response.status >= 200 or response.status == 101 or interim:
                break
        self._body(response, method)
        return response

    def _body(self, response, method):
        lengths, coding = response.all("content-length"), response.header("transfer-encoding")
        if len(lengths) > 1 or (lengths and coding):
            raise FramingError(f"more than one framing: {response.headers}")
        if lengths and not re.fullmatch(r"\d+", lengths[0]):
            raise FramingError(f"Content-Length: {lengths[0]}")
        if method == "HEAD" or response.status < 200 or response.status in (204, 304):
            if response.status < 200 or response.status == 204:
                if lengths or coding:
                    raise FramingError(f"a body is announced with {response.status}: {response.headers}")
            response.framing = "none"
        elif coding:
            if coding.lower() != "chunked":
                raise FramingError(f"Transfer-Encoding: {coding}")
            response.framing = "chunked"
            self._chunks(response)
        elif lengths:
            response.framing = "length"
            response.body = self._exactly(int(lengths[0]), "a body")
        else:
            response.framing = "close"
            while self._more():
                pass
            response.body, self.buffer = self.buffer, b""

    def _chunks(self, response):
        while True:
            size = re.fullmatch(rb"([0-9A-Fa-f]+)(;.*)?", self._line("a chunk's size"))
            if not size:
                raise FramingError("a chunk's size is no number")
            if int(size[1], 16) == 0:
                response.trailers = self._fields("the trailers")
                return
            response.body += self._exactly(int(size[1], 16), "a chunk")
            if self._exactly(2, "a chunk") != b"\r\n":
                raise FramingError("no line break after a chunk")


def _receive_queue(local, remote):
    """Bytes that wait unread at a loopback socket with these ports; None if there is no such socket."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(table, encoding="ascii") as f:
                rows = f.readlines()[1:]
        except FileNotFoundError:
            continue
        for row in rows:
            words = row.split()
            if int(words[1].rsplit(":", 1)[1], 16) == local and int(words[2].rsplit(":", 1)[1], 16) == remote:
                return int(words[4].split(":")[1], 16)
    return None


def raw(address, data, n=None, methods=None, *, shutdown=False, timeout=10):
    """Sends bytes, or a list of pieces one by one, and returns the parsed responses.

    n         how many to read; None: all until the server closes, which it must do within `timeout`
    methods   of the requests, since a response to HEAD has no body; default: as found in the data
    shutdown  tell the server that nothing more comes
    """
    pieces = [data] if isinstance(data, bytes) else list(data)
    if methods is None:
        methods = [m.decode() for m in re.findall(rb"(?m)^([A-Z]+) \S+ HTTP/1\.[01]\r?$", b"".join(pieces))]
    responses = []
    with Raw(address, timeout) as connection:
        try:
            connection.send_pieces(pieces)
            if shutdown:
                connection.shutdown()
        except (BrokenPipeError, ConnectionResetError):
            pass    # it has answered already and closed: what it said is still to be read
        while n is None or len(responses) < n:
            method = methods[len(responses)] if len(responses) < len(methods) else "GET"
            try:
                response = connection.response(method)
            except ConnectionResetError:
                response = None
            if response is None:
                if n is not None:
                    raise FramingError(f"closed after {len(responses)} of {n} responses: {responses}")
                break
            responses.append(response)
        if connection.buffer and not connection.buffer.startswith(b"HTTP/1."[:len(connection.buffer)]):
            raise FramingError(f"bytes after the last response: {connection.buffer[:200]!r}")
    return responses
