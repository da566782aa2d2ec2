"""Processes of a pool for tests: real ones, on free ports of loopback, none of which outlives its test.

The tests are unittest cases; CTest runs each file with the program's path in LARDER.
"""

import ctypes
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import threading
import time
import unittest

LARDER = os.environ.get("LARDER", "build/release/bin/larder")
BINARIES = pathlib.Path(LARDER).resolve().parent
# Of a build with sanitizers, whose tests do less of what takes long.
SANITIZED = BINARIES.parent.name in ("asan", "tsan")
# How much slower than a release build on a quiet machine things may be: sanitizers, other work.
PATIENCE = 30.0


def die_with_parent():
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def wait_until(condition, what, timeout=PATIENCE):
    """Polls until condition() is true and returns what it gave."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout} s: {what}")
        time.sleep(0.02)


def in_words(arguments):
    """A command line: bytes stay as they are, everything else is shown as text."""
    return [one if isinstance(one, bytes) else str(one) for one in arguments]


class Server:
    """A server process: up, master or node. Ready when `endpoint` is there."""

    def __init__(self, *arguments, inside=lambda *words: words):
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            inside(LARDER, *arguments, "--json"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self.log,
            preexec_fn=die_with_parent,
        )
        self.line = None
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        self.line = self.process.stdout.readline()

    @property
    def pid(self):
        return self.process.pid

    def wait_ready(self):
        self.reader.join(PATIENCE)
        if not self.line:
            raise AssertionError(f"it did not become ready; its log:\n{self.log_text()}")
        ready = json.loads(self.line)
        assert ready["pid"] == self.pid, ready
        self.endpoint = ready["endpoint"]
        return self

    def log_text(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")

    def send(self, number):
        self.process.send_signal(number)

    def end(self, number=signal.SIGTERM, timeout=PATIENCE):
        """Sends a signal and returns the exit code."""
        self.send(number)
        return self.process.wait(timeout)

    def destroy(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.reader.join()
        self.process.stdout.close()
        self.log.close()


class PoolTest(unittest.TestCase):
    """Servers started with start() end with the test; commands run with run()."""

    def setUp(self):
        self.master = None
        directory = tempfile.TemporaryDirectory(prefix="larder-test-")
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def path(self, name):
        return os.path.join(self.directory, name)

    def start(self, *arguments, **options):
        server = Server(*arguments, **options)
        self.addCleanup(server.destroy)
        return server

    def start_up(self, *arguments, memory="64MiB"):
        server = self.start("up", "--listen", "127.0.0.1:0", "--memory", memory, *arguments)
        self.master = server.wait_ready().endpoint
        return server

    def start_master(self, *arguments, host="127.0.0.1"):
        server = self.start("master", "--listen", f"{host}:0", *arguments)
        self.master = server.wait_ready().endpoint
        return server

    def start_node(self, name, *arguments, memory="64MiB", **options):
        server = self.start(
            "node", "--master", self.master, "--name", name, "--memory", memory, *arguments, **options
        )
        return server.wait_ready()

    def command(self, *arguments, master=None):
        place = [] if arguments[0] in ("up", "master") else ["--master", master or self.master]
        return [LARDER, arguments[0], *place, *arguments[1:]]

    def popen(self, *arguments, **options):
        return self.popen_program(*self.command(*arguments), **options)

    def popen_program(self, *words, **options):
        process = subprocess.Popen(
            in_words(words),
            stdin=options.pop("stdin", subprocess.DEVNULL),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=die_with_parent,
            **options,
        )
        self.addCleanup(self._destroy, process)
        return process

    @staticmethod
    def _destroy(process):
        if process.poll() is None:
            process.kill()
        process.communicate()

    def run_command(self, *arguments, value=None, master=None, timeout=PATIENCE):
        return self.run_program(*self.command(*arguments, master=master), value=value, timeout=timeout)

    @staticmethod
    def run_program(*words, value=None, timeout=PATIENCE):
        return subprocess.run(
            in_words(words),
            input=value if value is not None else b"",
            capture_output=True,
            timeout=timeout,
            preexec_fn=die_with_parent,
        )

    def do(self, *arguments, value=None):
        """Runs a command that must succeed; its stdout."""
        result = self.run_command(*arguments, value=value)
        # A busy machine may take half a second to connect, which is then told.
        said = [line for line in result.stderr.splitlines() if b"still trying" not in line]
        self.assertEqual((result.returncode, said), (0, []), f"{arguments}: {result.stderr}")
        return result.stdout

    def fail_to(self, code, *arguments, value=None, master=None, timeout=PATIENCE):
        """Runs a command that must end with this exit code and say why; what it says."""
        result = self.run_command(*arguments, value=value, master=master, timeout=timeout)
        message = result.stderr.decode(errors="replace")
        self.assertEqual(result.returncode, code, f"{arguments}: {message}")
        self.assertTrue(message.strip(), f"{arguments} said nothing")
        return message

    def put(self, key, value, *options):
        return json.loads(self.do("put", key, "--json", *options, value=value))

    def get(self, key):
        return self.do("get", key)

    def status(self):
        return json.loads(self.do("status", "--json"))

    def node_states(self):
        return {node["name"]: node["state"] for node in self.status()["nodes"]}

    def node_endpoint(self):
        return self.status()["nodes"][0]["endpoint"]

    def check_serves(self, key="still/serves"):
        """The pool takes and gives a value of a new key."""
        value = os.urandom(5000)
        key = f"{key}/{time.monotonic_ns()}"
        self.put(key, value)
        self.assertEqual(self.get(key), value)
