"""Transfers whose other side stops, dies or goes silent in the middle."""

import collections
import json
import os
import re
import signal
import threading
import time
import unittest

import wire
from cable import Cable, NoCable
from pool import BINARIES, PATIENCE, SANITIZED, PoolTest, wait_until

LARGE = 400 << 20
HEADER = 16


def cpu_ns(pid):
    """Processor time of a process: clock_getcpuclockid(3), which Python lacks."""
    return time.clock_gettime_ns(~pid << 3 | 2)


class Transfers(PoolTest):
    def setUp(self):
        super().setUp()
        self.start_pool()
        self.value, self.small = self.path("value"), self.path("small")
        with open(self.small, "wb") as file:
            file.write(os.urandom(10_000))
        with open(self.value, "wb") as file:
            for _ in range(LARGE >> 20):
                file.write(os.urandom(1 << 20))

    def start_pool(self):
        self.start_master()
        self.node = self.start_node("n", memory="1GiB")

    def in_the_middle(self, do, *arguments):
        """Starts a command and calls do() once the node moves its bytes; the command."""
        idle = cpu_ns(self.node.pid)
        command = self.popen(*arguments)
        moves = lambda: cpu_ns(self.node.pid) > idle + 20_000_000  # noqa: E731
        # On a busy machine its time may be over before.
        wait_until(lambda: moves() or command.poll() is not None, "bytes are moved")
        do()
        return command

    def check_late(self, command, timeout_ms):
        """It ends as late, and says that it took no longer than it may."""
        _, message = command.communicate(timeout=PATIENCE)
        if command.returncode == 0:
            return False  # it was done before its node was stopped
        text = message.decode()
        after = re.search(r"after (\d+) ms", text)
        self.assertTrue(after, text)
        self.assertLessEqual(int(after[1]), timeout_ms * 1.1, text)
        return True


class StatementD9(Transfers):
    def check_stopped(self, *arguments):
        def stop():
            self.node.send(signal.SIGSTOP)

        late = self.check_late(self.in_the_middle(stop, *arguments, "--timeout", "3"), 3000)
        self.node.send(signal.SIGCONT)
        return late

    def test_a_put_to_a_node_that_is_stopped(self):
        late = [self.check_stopped("put", f"k/{i}", self.value) for i in range(2)]
        self.assertIn(True, late, "no put was stopped in the middle")
        self.check_serves()

    def test_a_get_from_a_node_that_is_stopped(self):
        self.do("put", "k", self.value)
        target = self.path("got")
        late = [self.check_stopped("get", "k", target) for _ in range(3)]
        self.assertIn(True, late, "no get was stopped in the middle")
        self.check_serves()

    def test_a_get_from_a_node_that_is_killed(self):
        self.do("put", "k", self.value)
        began = time.monotonic()
        command = self.in_the_middle(self.node.process.kill, "get", "k", self.path("got"))
        _, message = command.communicate(timeout=PATIENCE)
        if command.returncode != 0:
            self.assertRegex(message.decode(), "TRANSFER_FAIL|OBJECT_NOT_FOUND|REPLICA")
        self.assertLess(time.monotonic() - began, PATIENCE)

    def test_the_default_deadline_is_finite(self):
        self.put("small", b"x" * 1000)
        self.node.send(signal.SIGSTOP)
        command = self.popen("get", "small")
        self.assertTrue(self.check_late(command, 10_000))
        self.node.send(signal.SIGCONT)
        self.check_serves()


class StatementD9PulledCable(Transfers):
    """The node's machine is cut off in the midst of a transfer: packets are lost, nobody is told."""

    def start_pool(self):
        try:
            self.cable = Cable()
        except NoCable as reason:
            self.skipTest(f"no network namespace can be made here: {reason}")
        self.addCleanup(self.cable.destroy)
        self.master_process = self.start_master("--insecure", host=self.cable.here)
        self.node = self.start_node(
            "n", "--listen", f"{self.cable.there}:0", "--insecure", memory="1GiB", inside=self.cable.inside
        )

    def check_pulled(self, *arguments):
        late = self.check_late(self.in_the_middle(self.cable.pull, *arguments, "--timeout", "3"), 3000)
        self.cable.plug()
        wait_until(lambda: self.node_states() == {"n": "shown"}, "it is shown again")
        return late

    def test_a_get_whose_packets_are_lost(self):
        self.do("put", "k", self.value)
        late = [self.check_pulled("get", "k", self.path("got")) for _ in range(3)]
        self.assertIn(True, late, "no get was cut off in the middle")
        self.check_serves()

    def test_a_put_whose_packets_are_lost(self):
        late = [self.check_pulled("put", f"k/{i}", self.value) for i in range(2)]
        self.assertIn(True, late, "no put was cut off in the middle")
        self.check_serves()

    def test_a_process_is_at_its_end_when_its_call_is(self):
        """With a master and a node that are stopped, and one that is cut off."""
        self.do("put", "k", self.value)
        timeout = 4
        cuts = {
            "cable": (self.cable.pull, self.cable.plug),
            "node": (lambda: self.node.send(signal.SIGSTOP), lambda: self.node.send(signal.SIGCONT)),
            "master": (lambda: self.master_process.send(signal.SIGSTOP),
                       lambda: self.master_process.send(signal.SIGCONT)),
        }  # fmt: skip
        for what, (cut, mend) in cuts.items():
            for words in (("put", f"new/{what}", self.small), ("get", "k", self.path("got"))):
                cut()
                begun = time.monotonic()
                result = self.run_command(*words, "--timeout", str(timeout))
                elapsed = time.monotonic() - begun
                mend()
                self.assertEqual(result.returncode, 1, f"{what} {words}: {result.stderr}")
                # A tenth, and what it takes to start a process on a busy machine.
                start = 4 if SANITIZED else 1
                self.assertLess(elapsed, 1.1 * timeout + start, f"{what} {words}: {result.stderr}")
            wait_until(lambda: self.node_states() == {"n": "shown"}, "it is shown again")


class Stutter:
    """Stops a process for a second, again and again, and lets it work for a moment between: for so much of a
    processor's time, however busy the machine is, or until it has had nothing to do for a while."""

    STOPPED_S, WORKING_NS, IDLE_S = 1.0, 4_000_000, 0.25

    def __init__(self, server):
        self.server, self.ending = server, threading.Event()
        self.thread = threading.Thread(target=self._run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ending.set()
        self.thread.join()

    def _run(self):
        while not self.ending.is_set():
            self.server.send(signal.SIGSTOP)
            self.ending.wait(self.STOPPED_S)
            self.server.send(signal.SIGCONT)
            worked, over = cpu_ns(self.server.pid), time.monotonic() + self.IDLE_S
            while cpu_ns(self.server.pid) < worked + self.WORKING_NS and time.monotonic() < over:
                self.ending.wait(0.001)


class StatementA2(PoolTest):
    """A lease of 500 ms, and a node that stands still for a second in the midst of every read."""

    VALUES, VALUE_BYTES = 2, 64 << 20  # no value passes while the node runs
    EXPIRED = "LEASE_EXPIRED"

    def setUp(self):
        super().setUp()
        # Its silence is no reason to hide it here.
        self.start_master("--lease", "500ms", "--exists-lease", "100ms", "--hidden-after-silence", "60s",
                          "--stale-heartbeat", "60s", "--node-lost", "90s")  # fmt: skip
        self.node = self.start_node("n", memory="256MiB")
        self.values("put")

    def values(self, what):
        done = self.run_program(
            BINARIES / "larder-values", what, self.master, "v", self.VALUES, self.VALUE_BYTES, timeout=600
        )
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return json.loads(done.stdout)

    def test_every_entry_of_the_library_says_that_the_lease_is_over(self):
        said = collections.defaultdict(set)
        with Stutter(self.node):
            for _ in range(4):
                for entry, each in self.values("entries").items():
                    said[entry].update(each)
                if all(self.EXPIRED in outcomes for outcomes in said.values()):
                    break
        self.assertEqual(len(said), 6, said)
        for entry, outcomes in said.items():
            self.assertIn(self.EXPIRED, outcomes, entry)
            # On a busy machine a node may not answer at all in the moments in which it runs.
            self.assertLessEqual(outcomes, {self.EXPIRED, "TRANSFER_FAIL"}, entry)
        for entry, each in self.values("entries").items():
            self.assertEqual(set(each), {"OK"}, f"{entry}, when the node runs again")

    def test_the_command_line_says_that_the_lease_is_over_and_leaves_no_file(self):
        key, target = "v/000000000000", self.path("got")
        with Stutter(self.node):
            self.assertIn(self.EXPIRED, self.fail_to(1, "get", key, target, "--timeout", "60s", timeout=120))
        self.assertEqual(os.listdir(self.directory), [])
        self.do("get", key, target)
        self.assertEqual(os.path.getsize(target), self.VALUE_BYTES)


class StatementD4(PoolTest):
    def test_tcp_never_touches_verbs(self):
        server = self.start_up(memory="4MiB")
        self.put("k", b"x")
        with open(f"/proc/{server.pid}/maps") as maps:
            self.assertNotRegex(maps.read(), "ibverbs|rdmacm|infiniband")
        opened = [os.readlink(f"/proc/{server.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{server.pid}/fd")]
        self.assertFalse([path for path in opened if "infiniband" in path], opened)

    def test_one_that_is_not_there_names_those_that_are(self):
        self.start_up(memory="4MiB")
        self.put("k", b"x")
        for transport in ("verbs", "shm", "Tcp"):
            message = self.fail_to(1, "get", "k", "--transport", transport)
            self.assertIn("there are: tcp", message)
        self.assertEqual(self.do("get", "k", "--transport", "tcp"), b"x")

    def test_auto_says_what_it_took(self):
        self.start_up(memory="4MiB")
        self.put("k", b"x")
        result = self.run_command("get", "k", "--transport", "auto")
        self.assertEqual((result.returncode, result.stdout), (0, b"x"))
        self.assertIn(b"transport auto: tcp", result.stderr)


class Stalled(PoolTest):
    def test_a_data_connection_with_half_a_frame_is_closed(self):
        self.start_up(memory="4MiB")
        fill = 10
        whole = wire.frame(fill, b"x" * 100)
        controls = []
        for half in (whole[:1], whole[:HEADER], whole[:-1], b""):
            control = self.enterContext(wire.Control(self.node_endpoint(), wire.DATA))
            control.connection.sendall(half)
            control.connection.settimeout(PATIENCE)
            controls.append(control.connection)
        waits_for_a_request = controls.pop()
        for connection in controls:
            self.assertEqual(connection.recv(1), b"")
        waits_for_a_request.setblocking(False)
        with self.assertRaises(BlockingIOError):
            waits_for_a_request.recv(1)  # it may stay
        self.check_serves()


if __name__ == "__main__":
    unittest.main()
