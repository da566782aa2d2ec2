"""What `larder status` tells of a pool: gauges that add up, nodes, stages, rates."""

import json
import os
import signal
import unittest

from pool import PoolTest, wait_until


class Status(PoolTest):
    def test_a_get_of_a_user_is_counted_once(self):
        self.start_up()
        self.put("k", b"v")
        self.get("k")
        self.get("k")
        self.fail_to(1, "get", "none")
        status = self.status()
        self.assertEqual((status["gets"], status["hits"], status["misses"]), (3, 2, 1))

    def test_a_hidden_node_and_then_a_lost_one_are_told_with_what_they_have(self):
        master = self.start_master()
        nodes = {name: self.start_node(name, "--host", name) for name in ("a", "b")}
        for i in range(12):
            self.put(f"k{i}", b"v" * 1000)
        before = self.status()
        only_in_a = {n["name"]: n["only_copies"] for n in before["nodes"]}["a"]
        self.assertEqual(sum(n["only_copies"] for n in before["nodes"]), 12)
        self.assertEqual(before["hidden_objects"], 0)

        nodes["a"].end(signal.SIGKILL)
        wait_until(lambda: self.node_states().get("a") == "hidden", "a is hidden")
        hidden = self.status()
        self.assertEqual((hidden["objects"], hidden["hidden_objects"]), (12, only_in_a))
        for gauge in ("capacity", "used", "quarantined"):
            self.assertEqual(hidden[gauge] + hidden[f"hidden_{gauge}"], before[gauge])
        text = self.do("status").decode()
        self.assertIn(f"the only copies of {only_in_a} objects", text)

        # A miss says where the value is; a removal says whom it waits for.
        for i in range(12):
            result = self.run_command("get", f"k{i}")
            if result.returncode != 0:
                self.assertRegex(result.stderr.decode(), r"OBJECT_NOT_FOUND.* a \(hidden, heard of")
                gone = f"k{i}"
        message = self.fail_to(1, "rm", "--timeout", "1", "--force", gone)
        self.assertRegex(message, r"RPC_TIMEOUT.*not confirmed by node 'a' \(hidden")

        wait_until(lambda: self.status()["lost_nodes"], "a is lost", timeout=60)
        wait_until(lambda: self.status()["lost_nodes"][0]["cleared"], "what it had is cleared")
        status = self.status()
        (lost,) = status["lost_nodes"]
        self.assertEqual((lost["name"], lost["objects"]), ("a", only_in_a - 1))
        self.assertEqual(lost["bytes"], 1000 * (only_in_a - 1))
        self.assertEqual(status["gone"], {"removed": 1, "lost with a node": only_in_a - 1})
        self.assertEqual((status["hidden_capacity"], status["hidden_objects"]), (0, 0))
        log = master.log_text()
        for words in ("has registered", "is shown", "is hidden", "is lost"):
            self.assertRegex(log, rf"master: a node {words} \(node a, endpoint .*why ")

    def test_watching_prints_one_object_a_line_with_the_rates(self):
        self.start_up()
        watch = self.popen("status", "--json", "--watch", "0.2")
        first = json.loads(watch.stdout.readline())
        self.assertNotIn("per_second", first)
        for i in range(5):
            self.put(f"k{i}", b"v")
        rates = []
        for _ in range(200):
            line = json.loads(watch.stdout.readline())
            rates.append(line["per_second"]["puts"])
            if line["puts"] == 5:
                break
        # The rates over all intervals are the puts. An interval is 0.2 s, less what the answer at its
        # beginning was late, which a busy machine may make a good part of it.
        self.assertGreater(sum(rates), 0)
        self.assertLessEqual(sum(rates) * 0.2, 10)
        watch.send_signal(signal.SIGTERM)
        watch.wait(30)
        self.fail_to(2, "status", "--watch", "0")
        self.fail_to(2, "status", "--watch", "often")


class StatementC10(PoolTest):
    """Lookup, queue and transfer time are told apart, of the master and of each node too."""

    def test_stages(self):
        self.start_up("--name", "n")
        for i in range(5):
            self.put(f"k{i}", os.urandom(100_000))
            self.get(f"k{i}")

        def stages():
            found = {(s["where"], s["stage"]): s for s in self.status()["stages"]}
            read = found.get(("node n", "read"))
            return found if read and read["count"] >= 5 else None

        found = wait_until(stages, "the node's heartbeats bring its stages")
        for where, stage in (
            ("node n", "fill"),
            ("node n", "queue"),
            ("node n", "read"),
            ("master", "PutStart work"),
            ("master", "PutStart queue"),
            ("master", "GetReplicaList work"),
        ):
            with self.subTest(stage=(where, stage)):
                one = found[where, stage]
                self.assertGreaterEqual(one["count"], 5)
                self.assertLessEqual(one["p50_s"], one["p99_s"])
                self.assertLessEqual(one["p99_s"], one["longest_s"])
        self.assertGreater(found["node n", "fill"]["p50_s"], 0)
        self.assertGreater(found["master", "PutStart work"]["p50_s"], 0)
        self.assertIn("GetReplicaList work", self.do("status").decode())


class StatementD11(PoolTest):
    """Sizes are rounded down, and that is said; size 0 contributes nothing; totals are shown."""

    def test_totals_of_processes_hosts_and_the_pool(self):
        master = self.start_master()
        sizes = {"a": 5_000_001, "b": 8 << 20, "c": 0, "d": 4 << 20}
        nodes = {}
        for name, size in sizes.items():
            host = "east" if name in "ab" else "west"
            nodes[name] = self.start_node(name, "--host", host, memory=str(size))
        rounded = {name: size // 4096 * 4096 for name, size in sizes.items()}
        status = self.status()
        self.assertEqual({n["name"]: n["capacity"] for n in status["nodes"]}, rounded)
        self.assertEqual(
            {h["host"]: (h["nodes"], h["capacity"]) for h in status["hosts"]},
            {"east": (2, rounded["a"] + rounded["b"]), "west": (2, rounded["d"])},
        )
        self.assertEqual(status["capacity"], sum(rounded.values()))
        self.assertIn("memory is rounded down to whole pages (asked 5000001, memory 4997120)", nodes["a"].log_text())
        self.assertIn("contributes no memory", nodes["c"].log_text())
        text = self.do("status").decode()
        self.assertRegex(text, r"east +2 ")


if __name__ == "__main__":
    unittest.main()
