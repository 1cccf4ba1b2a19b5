# SPDX-License-Identifier: Apache-2.0
"""Compares a server with a bare libmicrohttpd one, in turn and several times, under the same load.

    run_http.py --bare build/tests/bench/bare_http --load build/tests/bench/load_http --json result.json

measures Mirage (`MIRAGE_BIN`) as it replays a cassette, which is first recorded here against a scripted
provider. Any other server can be measured instead:

    run_http.py … --command './server --port {port}' --url 'http://127.0.0.1:{port}'

What is compared is a ratio within one round, both servers measured one after the other on the same machine;
the table shows the median of the rounds' ratios and their range. CPU per request counts only the server's
own process.
"""

import argparse
import contextlib
import json
import os
import re
import select
import shlex
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import mirage as mirage_lib      # noqa: E402
import provider as provider_lib  # noqa: E402


class Exchange(NamedTuple):
    method: str
    path: str
    body: object = None
    piece: str = ""     # what a reply of the simulated service has in its body


class Server(NamedTuple):
    command: list
    url: str
    pid: int
    start_seconds: float
    check_pieces: bool  # whether its replies are those of the scenario


SCENARIO = [
    Exchange("POST", "/items", {"sku": "item-001", "quantity": 40}, "items"),
    Exchange("GET", "/items/item-001", None, "item-001"),
    Exchange("POST", "/items/item-001/reserve", {"quantity": 2, "order": "o-1"}, "reserve"),
    Exchange("GET", "/items/item-001?view=stock", None, '"view":"stock"'),
    Exchange("POST", "/items/item-001/reserve", {"quantity": 3, "order": "o-2"}, "reserve"),
    Exchange("GET", "/reservations?order=o-1", None, '"order":"o-1"'),
    Exchange("POST", "/reservations/o-1/release", {"reason": "cancelled"}, "release"),
    Exchange("GET", "/items/item-001?view=stock", None, '"view":"stock"'),
    Exchange("POST", "/items/item-001/ship", {"order": "o-2", "carrier": "post"}, "ship"),
    Exchange("GET", "/items/item-001", None, "item-001"),
]

SERVICE = '''"""Keeps stock: items with a quantity, reservations by order."""
ITEMS, RESERVED = {}, {}


def reserve(sku, order, quantity):
    if ITEMS[sku] < quantity:
        return 409, {"error": "insufficient stock"}
    ITEMS[sku] -= quantity
    RESERVED[order] = (sku, quantity)
    return 200, {"sku": sku, "left": ITEMS[sku]}
'''

RECORD = """\
model:
  provider: openai
  base_url: {base_url}
  name: simulated
  key_env: MIRAGE_BENCH_KEY
dependencies:
  - name: inventory
    listen: {{http: "127.0.0.1:0"}}
    evidence: {{source: [service]}}
    engines: [cassette, llm]
    cassette: {{mode: auto, dir: cassettes}}
"""

REPLAY = """\
dependencies:
  - name: inventory
    listen: {http: "127.0.0.1:0"}
    evidence: {source: [service]}
    engines: [cassette]
    cassette: {mode: replay, dir: cassettes}
"""


def scenario_text(exchanges):
    """The load generator's form of a scenario."""
    lines = []
    for x in exchanges:
        lines += [f"> {x.method} {x.path}", ": mirage-session: {session}", "< 200"]
        if x.body is not None:
            lines += [": Content-Type: application/json", f"= {json.dumps(x.body)}"]
        if x.piece:
            lines.append(f"? {x.piece}")
    return "\n".join(lines) + "\n"


def play(url, exchanges, session):
    """Plays the scenario once; every reply must be as the scripted provider made it."""
    for x in exchanges:
        status, _, body = mirage_lib.http(x.method, url + x.path, x.body, [("mirage-session", session)])
        if status != 200 or x.piece.encode() not in body:
            raise AssertionError(f"{x.method} {x.path}: {status} {body[:500]!r}")


# Servers: each of these is a context manager that yields a Server ------------------------------------------

@contextlib.contextmanager
def bare_server(binary, threads=2, size=64, scheme="http://"):
    command = [binary, "--threads", str(threads), "--size", str(size)]
    begun = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        seconds = time.monotonic() - begun
        found = re.fullmatch(r"listening on (\d+)\n", line)
        if not found:
            raise AssertionError(f"{shlex.join(command)} said {line!r}")
        yield Server(command, f"{scheme}127.0.0.1:{found[1]}", process.pid, seconds, False)
    finally:
        end(process)


@contextlib.contextmanager
def command_server(template, url_template, timeout=30):
    """Any server; `{port}` in command and URL becomes a free port, and it is ready once it can be connected to."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    command = shlex.split(template.replace("{port}", str(port)))
    url = url_template.replace("{port}", str(port))
    begun = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        watch = os.pidfd_open(process.pid)
        try:
            while True:
                try:
                    socket.create_connection(mirage_lib.address_of(url), timeout=1).close()
                    break
                except OSError:
                    if time.monotonic() > begun + timeout or select.select([watch], [], [], 0.002)[0]:
                        raise AssertionError(f"{shlex.join(command)} does not listen on {url}") from None
        finally:
            os.close(watch)
        yield Server(command, url, process.pid, time.monotonic() - begun, False)
    finally:
        end(process)


def end(process):
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise


def record_cassette(folder, exchanges, binary=None, *, record=RECORD, replay=REPLAY):
    """Leaves a configuration for replay and a recorded cassette in the folder; returns the number of model calls."""
    os.makedirs(os.path.join(folder, "service"), exist_ok=True)
    with open(os.path.join(folder, "service", "stock.py"), "w", encoding="utf-8") as f:
        f.write(SERVICE)
    with open(os.path.join(folder, "replay.yaml"), "w", encoding="utf-8") as f:
        f.write(replay)
    with provider_lib.Provider(provider_lib.simulate) as provider:
        with open(os.path.join(folder, "record.yaml"), "w", encoding="utf-8") as f:
            f.write(record.format(base_url=provider.base_url))
        with mirage_lib.Mirage(os.path.join(folder, "record.yaml"), folder=folder, binary=binary,
                               env={"MIRAGE_BENCH_KEY": "none"}) as m:
            play(m.url("inventory"), exchanges, "recording")
        provider.assert_clean()
        return provider.count


@contextlib.contextmanager
def mirage_server(folder, binary=None):
    """Mirage on the folder's cassette, never asking a model."""
    with mirage_lib.Mirage(os.path.join(folder, "replay.yaml"), ["--mode", "replay"], folder=folder,
                           binary=binary) as m:
        yield Server(m.command, m.url("inventory"), m.pid, m.start_seconds, True)


# Measuring -------------------------------------------------------------------------------------------------

def pin(pid, cpus):
    """Puts all threads of a process on these CPUs."""
    for task in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(int(task), cpus)


def rss_kb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return int(re.search(r"VmRSS:\s+(\d+)", f.read())[1])


def measure(make, load, scenario, options):
    """One start, one load, one stop of a server; returns the numbers."""
    with make() as server:
        idle = rss_kb(server.pid)
        cpus = sorted(os.sched_getaffinity(0))
        if options.pin and len(cpus) > 1:
            pin(server.pid, set(cpus[:-1]))
        target = server.url
        if target.startswith("http://"):
            target = "%s:%s" % mirage_lib.address_of(server.url)
        command = [load, "--connections", str(options.connections), "--repeat", str(options.repeat), "--warmup",
                   str(options.warmup), "--pid", str(server.pid)]
        if not server.check_pieces:
            command.append("--no-pieces")
        if options.pin and len(cpus) > 1:
            command = ["taskset", "-c", str(cpus[-1]), *command]
        done = subprocess.run([*command, target, scenario], stdout=subprocess.PIPE, text=True)
        if done.returncode:
            raise AssertionError(f"{shlex.join(command)}: {done.returncode} {done.stdout}")
        result = json.loads(done.stdout)
        latency = result["latency_us"]
        # The CPU clock is finer than the 10 ms ticks of /proc/PID/stat; both stay under "load".
        cpu = result["server_cpu_fine_us_per_request"] or result["server_cpu_us_per_request"]
        return {"cpu_us_per_request": cpu,
                "requests_per_second": result["requests_per_second"], "median_us": latency["median"],
                "p99_us": latency["p99"], "rss_kb": result["server_rss_kb"], "idle_rss_kb": idle,
                "start_ms": server.start_seconds * 1000, "load": result}


ROWS = [("cpu_us_per_request", "CPU per request, µs"), ("requests_per_second", "requests per second"),
        ("median_us", "median latency, µs"), ("p99_us", "p99 latency, µs"), ("rss_kb", "memory at the end, KiB"),
        ("idle_rss_kb", "memory at the start, KiB"), ("start_ms", "start, ms")]


def compare(rounds):
    """{row: {bare, other: medians; ratio: median of the rounds' ratios, least, most}}"""
    summary = {}
    for key, _ in ROWS:
        ratios = [b[key] / a[key] for a, b in rounds if a[key]]
        summary[key] = {"bare": statistics.median(a[key] for a, _ in rounds),
                        "other": statistics.median(b[key] for _, b in rounds),
                        "ratio": statistics.median(ratios) if ratios else None,
                        "least": min(ratios, default=None), "most": max(ratios, default=None)}
    return summary


def table(summary, name):
    lines = [f"{'':26}{'bare':>12}{name:>12}{'ratio':>9}   range"]
    for key, title in ROWS:
        s = summary[key]
        ratio = f"{s['ratio']:>9.2f}   {s['least']:.2f} … {s['most']:.2f}" if s["ratio"] is not None else "        –"
        lines.append(f"{title:26}{s['bare']:>12,.1f}{s['other']:>12,.1f}{ratio}")
    return "\n".join(lines)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bare", required=True, help="the bare_http program")
    parser.add_argument("--load", required=True, help="the load_http program")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--repeat", type=int, default=1000, help="sessions, each of ten exchanges")
    parser.add_argument("--warmup", type=int, default=100, help="sessions before the measurement")
    parser.add_argument("--threads", type=int, default=2, help="of the bare server")
    parser.add_argument("--size", type=int, default=64, help="bytes of the bare server's replies")
    parser.add_argument("--pin", action="store_true", help="load on the last CPU, servers on the others")
    parser.add_argument("--json", metavar="FILE", help="write all numbers")
    parser.add_argument("--name", help="of the other server in the table")
    parser.add_argument("--mirage", help="the Mirage program (default: MIRAGE_BIN)")
    parser.add_argument("--command", help="another server than Mirage; {port} becomes a free port")
    parser.add_argument("--url", default="http://127.0.0.1:{port}", help="where that server listens")
    return parser.parse_args()


def main():
    options = parse_arguments()
    folder = tempfile.mkdtemp(prefix="mirage-bench-")
    try:
        scenario = os.path.join(folder, "scenario.txt")
        with open(scenario, "w", encoding="utf-8") as f:
            f.write(scenario_text(SCENARIO))
        name = options.name or "server"
        if options.command:
            def other():
                return command_server(options.command, options.url)
        else:
            name = options.name or "mirage"
            calls = record_cassette(folder, SCENARIO, options.mirage)
            print(f"recorded {len(SCENARIO)} exchanges with {calls} model calls", file=sys.stderr)

            def other():
                return mirage_server(folder, options.mirage)

        rounds = []
        for number in range(options.rounds):
            pair = (measure(lambda: bare_server(options.bare, options.threads, options.size), options.load, scenario,
                            options),
                    measure(other, options.load, scenario, options))
            rounds.append(pair)
            print(f"round {number + 1}: " + ", ".join(
                f"{key} {pair[1][key] / pair[0][key]:.2f}" for key, _ in ROWS[:4] if pair[0][key]), file=sys.stderr)
        summary = compare(rounds)
        print(table(summary, name))
        if options.json:
            with open(options.json, "w", encoding="utf-8") as f:
                json.dump({"name": name, "options": {k: v for k, v in vars(options).items() if k != "json"},
                           "cpus": os.cpu_count(), "summary": summary,
                           "rounds": [{"bare": a, "other": b} for a, b in rounds]}, f, indent=1)
                f.write("\n")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
