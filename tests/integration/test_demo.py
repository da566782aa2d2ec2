"""./dev demo: the two worlds decide the same, and no process outlives it, however it ends."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

from pool import LARDER, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(LARDER).resolve().parent
SMALL = ("--memory", "1MiB", "--page-bytes", "4KiB")


def command(out, *arguments):
    return [sys.executable, ROOT / "tools/demo.py", "--bin", BIN, "--out", out, *arguments]


def run(out, *arguments):
    return subprocess.run(command(out, *arguments), capture_output=True, text=True, timeout=300)


def servers_of(out):
    """Pids of processes that have a log in `out` as their stderr."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(process / "fd/2").startswith(f"{out}/"):
                found.append(int(process.name))
        except OSError:
            pass
    return found


class Demo(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.out = os.path.realpath(self.directory.name)

    def numbers(self, world):
        with open(f"{self.out}/{world}.json") as file:
            return json.load(file)

    def test_a_real_pool_and_a_simulated_one_decide_the_same(self):
        result = run(self.out, *SMALL)
        self.assertEqual(result.returncode, 0, result.stderr)
        real, simulated = self.numbers("real"), self.numbers("sim")
        for name in ("requests", "page_hits", "pages", "tokens_hit", "tokens", "puts", "evictions",
                     "bytes_read", "bytes_written", "decision_digest"):  # fmt: skip
            self.assertEqual(real[name], simulated[name], name)
        self.assertEqual(real["requests"], 400)
        self.assertGreater(real["evictions"], 1000)
        report = re.search(r"Report: (.*)", result.stdout)[1]
        self.assertIn("decisions of 400 requests are the same", pathlib.Path(report).read_text())
        self.assertEqual(servers_of(self.out), [])

    def test_no_process_outlives_a_demo_that_is_stopped(self):
        demo = subprocess.Popen(
            command(self.out, "--memory", "64MiB", "--page-bytes", "1MiB"),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        wait_until(lambda: len(servers_of(self.out)) == 3, "a master and two nodes")
        demo.send_signal(signal.SIGTERM)
        self.assertEqual(demo.wait(60), 1)
        self.assertEqual(servers_of(self.out), [])

    def test_what_cannot_be_done_is_said(self):
        broken = f"{self.out}/broken.jsonl"
        pathlib.Path(broken).write_text('{"timestamp": 0\n')
        for arguments, reason in (
            ((broken,), "broken.jsonl: line 1"),
            ((f"{self.out}/none.jsonl",), "none.jsonl"),
            (("--memory", "4 parsecs"), "parsecs"),
            (("--page-bytes", "64MiB", "--memory", "1MiB"), "NO_AVAILABLE_HANDLE"),
        ):
            result = run(self.out, *arguments)
            self.assertEqual(result.returncode, 1, arguments)
            self.assertIn(reason, result.stderr)
            self.assertNotIn("Traceback", result.stderr)
            self.assertEqual(servers_of(self.out), [])


if __name__ == "__main__":
    unittest.main()
