"""A master that records, and larder-sim incident, which replays it."""

import json
import os
import signal
import subprocess
import unittest

from pool import LARDER, PoolTest, wait_until

SIM = os.path.join(os.path.dirname(LARDER), "larder-sim")


class Recording(PoolTest):
    def incident(self, *arguments, code=0):
        result = subprocess.run(
            [SIM, "incident", self.path("record"), *arguments], capture_output=True, timeout=120
        )
        self.assertEqual(result.returncode, code, result.stderr.decode())
        return result

    def summary(self, code=0):
        return json.loads(self.incident("--json", code=code).stdout)["summary"]

    def load(self):
        """Puts, gets, evictions and a node that is killed."""
        nodes = [self.start_node(name, "--host", name, memory="4MiB") for name in ("a", "b")]
        value = os.urandom(256 << 10)
        for i in range(60):
            self.put(f"page/{i}", value)
            if i % 4 == 0:
                self.assertEqual(self.get(f"page/{i}"), value)
        self.do("rm", "page/59")
        nodes[1].end(signal.SIGKILL)
        wait_until(lambda: self.node_states().get("b") == "hidden", "it is hidden")
        for i in range(60, 80):
            self.put(f"page/{i}", value)
        return self.status()

    def test_the_replay_answers_as_the_master_did_and_tells_a_keys_story(self):
        self.start_master("--record", self.path("record"))
        status = self.load()
        self.assertGreater(status["evicted_objects"], 10)
        recording = status["recording"]
        self.assertGreater(recording["span_s"], 1)
        self.assertGreater(recording["bytes"], 10_000)
        self.assertEqual((recording["dropped_calls"], recording["trouble"]), (0, ""))
        self.assertIn(b"recording", self.do("status"))
        self.end_master()
        summary = self.summary()
        self.assertIsNone(summary["divergence"])
        self.assertEqual(summary["breaks"], [])
        self.assertEqual(summary["by_kind"]["PutEnd"], 80)
        self.assertEqual(summary["objects_last"], status["objects"])

        story = self.incident("--key", "page/0").stdout.decode()
        self.assertRegex(story, r"put of page/0, 256.00 KiB: put \d+-\d+ has room on")
        self.assertIn("COMPLETE", story)
        self.assertIn("page/0 is evicted", story)
        self.assertIn("asks", story)
        self.assertNotIn("page/1 ", story)

    def end_master(self):
        self.do("status")  # what was sent before is recorded before this is answered
        self.master_process.end()

    def start_master(self, *arguments):
        self.master_process = super().start_master(*arguments)
        return self.master_process

    def test_what_a_killed_master_recorded_is_replayed_up_to_its_last_moments(self):
        self.start_master("--record", self.path("record"))
        self.load()
        written = self.status()["recording"]["bytes"]
        wait_until(lambda: self.status()["recording"]["bytes"] > written, "it writes all the time")
        self.master_process.end(signal.SIGKILL)
        # As a crash of the machine would leave it: the last record is cut.
        calls = self.path("record/00000001.calls")
        os.truncate(calls, os.path.getsize(calls) - 3)
        summary = self.summary()
        self.assertIsNone(summary["divergence"])
        self.assertEqual(len(summary["breaks"]), 1)
        self.assertIn("the last record is torn", summary["breaks"][0])
        self.assertEqual(summary["by_kind"]["PutEnd"], 80)

        # The next master goes on in the same ring.
        self.start_master("--record", self.path("record"))
        self.start_node("c")
        self.put("after", b"x")
        self.master_process.end()
        summary = self.summary()
        self.assertIsNone(summary["divergence"])
        self.assertEqual(summary["by_kind"]["PutEnd"], 81)
        self.assertEqual(summary["files"], 2)

    def test_other_settings_from_a_moment_on_give_other_evictions(self):
        self.start_master("--record", self.path("record"))
        self.load()
        self.master_process.end()
        same = json.loads(self.incident("--at", "+0s", "--json").stdout)["what_if"]
        for name in ("gets", "hits", "puts"):
            self.assertEqual(same["recorded"][name], same["what_if"][name], name)
        self.assertGreater(same["recorded"]["hits"], 10)
        self.assertIsNone(same["first_difference"])
        larger = json.loads(self.incident("--pool-size", "8", "--json").stdout)["what_if"]
        self.assertGreater(larger["recorded"]["evicted_objects"], 10)
        self.assertEqual(larger["what_if"]["evicted_objects"], 0)
        self.assertIn("What clients did", self.incident("--pool-size", "8").stdout.decode())
        message = self.incident("--policy", "unheard-of", code=2).stderr
        self.assertIn(b"leaf-first", message)

    def test_what_is_no_recording_is_named(self):
        self.assertIn(b"no such directory", self.incident(code=1).stderr)
        os.mkdir(self.path("record"))
        self.assertIn(b"holds no recording", self.incident(code=1).stderr)
        with open(self.path("record/00000001.state"), "wb") as file:
            file.write(b"of somebody else" * 20)
        self.assertIn(b"no file of a recording", self.incident(code=1).stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
