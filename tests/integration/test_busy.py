"""A process whose main thread does something else: it stays a client and a node."""

import os
import subprocess
import threading
import time
import unittest

from pool import BINARIES, PoolTest

SHORT = ("--session-lost", "2s", "--node-lost", "4s", "--hidden-after-silence", "1s", "--heartbeat", "250ms")


class Busy(PoolTest):
    """The times of the master are short, so that what is not renewed for 8 s is surely lost."""

    SECONDS = int(os.environ.get("LARDER_BUSY_SECONDS", 8))

    def check_busy(self, kind):
        self.start_master(*SHORT)
        alone = self.status()["sessions"]  # of the command that asks
        busy = self.popen_program(
            BINARIES / "larder-busy", self.master, self.SECONDS, kind, stdin=subprocess.PIPE
        )
        self.assertEqual(busy.stdout.readline(), b"ready\n")
        began = time.monotonic()
        seen, lines = [], []
        reader = threading.Thread(target=lambda: lines.append(busy.stdout.readline()))
        reader.start()
        while not lines:
            status = self.status()
            seen.append(([(n["name"], n["state"]) for n in status["nodes"]], status["sessions"]))
            # Its node serves while its main thread does not return.
            self.assertEqual(len(self.get("busy/before")), 100_000)
            reader.join(0.2)
        # It was busy before this process had read that it is.
        self.assertGreaterEqual(time.monotonic() - began, self.SECONDS - 1)
        self.assertGreater(len(seen), 2, "the machine is too slow for this test")
        self.assertEqual([s for s in seen if s != ([("busy", "shown")], alone + 1)], [])
        out, message = busy.communicate(timeout=60)
        self.assertEqual((busy.returncode, lines, out), (0, [b"done\n"], b""), message)
        for word in (b"hidden", b"session"):
            self.assertNotIn(word, message)

    def test_a_main_thread_that_computes_loses_neither_session_nor_node(self):
        self.check_busy("compute")

    def test_a_main_thread_that_is_blocked_loses_neither_session_nor_node(self):
        self.check_busy("block")


if __name__ == "__main__":
    unittest.main()
