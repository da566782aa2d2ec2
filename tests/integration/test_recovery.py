"""Masters and nodes that go and come back, as processes, while clients work."""

import os
import random
import signal
import threading
import time
import unittest

from pool import SANITIZED, PoolTest, wait_until
from proxy import Proxy

HEARTBEAT = 1.0
# What a busy machine and the commands of the test may add to the limits of the statements. By itself
# all this takes 0.2 to 1.1 s with a release build.
SLACK = 8.0 if SANITIZED else 3.0


class Worker(threading.Thread):
    """Puts and gets values of keys of its own until stopped; each value names its key and attempt."""

    def __init__(self, test, name):
        super().__init__(daemon=True)
        self.test, self.name_ = test, name
        self.random = random.Random(name)
        self.stopping = False
        self.stored = {}
        self.wrong = []
        self.done = 0
        self.start()

    def value(self, key, attempt):
        return f"{key} {attempt} ".encode() * 500

    def run(self):
        count = 0
        while not self.stopping:
            count += 1
            key = f"{self.name_}/{count}"
            value = self.value(key, count)
            put = self.test.run_command("put", key, "--timeout", "4", value=value)
            if put.returncode == 0:
                self.stored[key] = value
            if self.stored:
                asked = self.random.choice(list(self.stored))
                got = self.test.run_command("get", asked, "--timeout", "4")
                if got.returncode == 0 and got.stdout != self.stored[asked]:
                    self.wrong.append(asked)
                self.done += got.returncode == 0

    def stop(self):
        self.stopping = True
        self.join()


class Recovery(PoolTest):
    def restart_master(self, *arguments):
        return self.start("master", "--listen", self.master, *arguments).wait_ready()

    def test_b15_a_master_killed_under_load_comes_back_with_every_object(self):
        state = self.path("state")
        master = self.start_master("--state-dir", state)
        for name in ("a", "b"):
            self.start_node(name, "--host", name)
        # Far enough from their ends to be seen afterwards.
        self.put("pinned", b"p" * 5000, "--soft-pin", "600", "--replicas", "2")
        self.put("mortal", b"m" * 5000, "--time-to-live", "600")
        workers = [Worker(self, f"w{i}") for i in range(3)]
        wait_until(lambda: min(worker.done for worker in workers) >= 3, "they work")
        master.end(signal.SIGKILL)
        time.sleep(0.5)
        before = [worker.done for worker in workers]
        self.restart_master("--state-dir", state)
        back_by = time.monotonic() + 2 * HEARTBEAT + SLACK
        wait_until(
            lambda: all(w.done > done for w, done in zip(workers, before)),
            "all of them work again",
            timeout=back_by - time.monotonic(),
        )
        wait_until(
            lambda: not self.status()["recovering"],
            "all nodes have reported",
            timeout=back_by - time.monotonic(),
        )
        for worker in workers:
            worker.stop()
            self.assertEqual(worker.wrong, [])
            for key, value in worker.stored.items():
                self.assertEqual(self.get(key), value, "what was stored is there")
        self.assertEqual(self.get("pinned"), b"p" * 5000)
        self.assertEqual(self.get("mortal"), b"m" * 5000)

    def test_a_time_to_live_goes_on_over_a_restart(self):
        state = self.path("state")
        master = self.start_master("--state-dir", state)
        self.start_node("n")
        self.put("mortal", b"m" * 100, "--time-to-live", "6")
        begun = time.monotonic()
        master.end(signal.SIGKILL)
        self.restart_master("--state-dir", state)
        wait_until(lambda: self.run_command("get", "mortal").returncode == 0, "it is back")
        self.assertLess(time.monotonic() - begun, 6, "the machine is too slow for this test")
        wait_until(lambda: self.run_command("get", "mortal").returncode != 0, "its time is over")
        self.assertGreater(time.monotonic() - begun, 5)

    def test_a_node_that_restarts_empty_offers_nothing_of_its_old_content(self):
        self.start_master()
        node = self.start_node("n")
        self.put("k", b"v" * 5000)
        node.end(signal.SIGKILL)
        self.start_node("n")
        self.assertIn("OBJECT_NOT_FOUND", self.fail_to(1, "get", "k"))
        self.assertEqual(self.status()["objects"], 0)
        self.put("k", b"w" * 5000)
        self.assertEqual(self.get("k"), b"w" * 5000)

    def test_b21_a_node_cut_off_for_15_s_is_hidden_and_comes_back_less_what_was_removed(self):
        # On a machine on which all this takes long, 15 s are to be no reason to give the node up.
        self.start_master("--node-lost", "5min")
        master, proxy = self.master, Proxy(self.master)
        self.addCleanup(proxy.close)
        self.start_node("steady", "--host", "steady", memory="32MiB")
        self.master = proxy.endpoint
        self.start_node("cut", "--host", "cut", memory="32MiB")
        self.master = master
        keys = [f"k{i}" for i in range(20)]
        for key in keys:
            self.put(key, key.encode() * 1000)
        proxy.freeze()
        cut_at = time.monotonic()
        wait_until(lambda: self.node_states()["cut"] == "hidden", "it is hidden", timeout=10)
        readable = {key for key in keys if self.run_command("get", key).returncode == 0}
        hidden = [key for key in keys if key not in readable]
        self.assertTrue(readable and hidden, "both nodes had some")
        removed = sorted(readable)[0]
        self.do("rm", "--force", removed)
        replaced = hidden[0]
        self.put(replaced, b"newer" * 1000)
        time.sleep(max(0.0, 15 - (time.monotonic() - cut_at)))
        proxy.thaw()
        wait_until(lambda: self.node_states()["cut"] == "shown", "it is shown again", timeout=15)
        for key in keys:
            if key == removed:
                self.assertIn("OBJECT_NOT_FOUND", self.fail_to(1, "get", key))
            elif key == replaced:
                self.assertEqual(self.get(key), b"newer" * 1000)
            else:
                self.assertEqual(self.get(key), key.encode() * 1000)

    def test_b20_of_two_masters_started_by_mistake_one_ends_and_says_why(self):
        first = self.start_master("--state-dir", self.path("first"))
        old_epoch = self.status()["epoch"]
        proxy = Proxy(self.master)
        self.addCleanup(proxy.close)
        first_place, self.master = self.master, proxy.endpoint
        self.start_node("n")
        self.put("k", b"v" * 5000)
        self.start_master("--state-dir", self.path("second"))
        second_place = self.master
        # Somebody leads the node to the second one, and it tells the first what it has seen.
        proxy.target = second_place
        proxy.cut()
        wait_until(lambda: self.node_states().get("n") == "shown", "the second one has the node")
        self.assertGreater(self.status()["epoch"], old_epoch)
        self.assertEqual(self.get("k"), b"v" * 5000, "no object is lost")
        proxy.target = first_place
        proxy.cut()
        self.assertEqual(first.process.wait(HEARTBEAT + SLACK), 3)
        self.assertIn("leads now", first.log_text())
        proxy.target = second_place
        wait_until(lambda: self.node_states().get("n") == "shown", "it is back with the second")
        self.assertEqual(self.get("k"), b"v" * 5000)


if __name__ == "__main__":
    unittest.main()
