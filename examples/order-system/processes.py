# SPDX-License-Identifier: Apache-2.0
"""Starts the servers a run needs and stops them again."""

from __future__ import annotations

import json
import os
import re
import selectors
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
DEPENDENCIES = ("inventory", "payment", "shipping")
START_TIMEOUT_S = 20
STOP_TIMEOUT_S = 5


class StartError(Exception):
    """A server did not come up; the message holds what it printed."""


class Processes:
    """Child processes; leaving the context ends every one of them."""

    def __init__(self) -> None:
        self.running: list[tuple[str, subprocess.Popen]] = []
        self.folder = tempfile.TemporaryDirectory(prefix="order-system-")

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        for _, process in reversed(self.running):
            process.terminate()
        for _, process in self.running:
            try:
                process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout:
                process.stdout.close()
        self.folder.cleanup()

    def service(self, name: str, *args: str, **environment: str) -> dict[str, str]:
        """Starts one of the example's services on a free port; returns its addresses by wire."""
        script = HERE / "services" / name / f"{name}.py"
        command = [sys.executable, str(script), "--port", "0", *args]
        log = self._log(name)
        with log.open("wb") as stderr:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, cwd=HERE,
                                       env=os.environ | environment)
        self.running.append((name, process))
        line = self._first_line(process)
        match = re.fullmatch(r"listening on (\w+=\S+(?: \w+=\S+)*)\n", line)
        if not match:
            raise StartError(f"{name} did not start: {line}{log.read_text(errors='replace')}")
        return dict(part.split("=", 1) for part in match[1].split())

    def mirage(self, binary: str, live: bool, config: Path = HERE / "mirage.yaml") -> dict:
        """Starts Mirage in its configuration's folder; returns what its ready file says."""
        ready = Path(self.folder.name) / "ready.json"
        command = [str(Path(binary).resolve()), "serve", "-c", config.name,
                   "--ready-file", str(ready)]
        if not live:
            command += ["--mode", "replay"]
        log = self._log("mirage")
        try:
            with log.open("wb") as output:
                process = subprocess.Popen(command, stdout=output, stderr=output,
                                           cwd=config.parent)
        except OSError as error:
            raise StartError(f"mirage did not start: {error}") from error
        self.running.append(("mirage", process))
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline and process.poll() is None:
            try:
                return json.loads(ready.read_text())
            except (FileNotFoundError, ValueError):
                time.sleep(0.02)
        raise StartError(f"mirage did not start: {log.read_text(errors='replace')}")

    def wait(self) -> str:
        """Blocks until one of the processes ends; returns its name."""
        while True:
            for name, process in self.running:
                if process.poll() is not None:
                    return name
            time.sleep(0.2)

    def _log(self, name: str) -> Path:
        return Path(self.folder.name) / f"{len(self.running)}-{name}.log"

    @staticmethod
    def _first_line(process: subprocess.Popen) -> str:
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            if not selector.select(START_TIMEOUT_S):
                return ""
        return process.stdout.readline().decode(errors="replace")
