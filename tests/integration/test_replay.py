"""A trace served by a real pool in lock step."""

import json
import os
import unittest

from pool import PoolTest

SAMPLE = "workloads/samples/sessions.jsonl"


class Replay(PoolTest):
    def replay(self, out, requests, *arguments):
        """On a fresh pool of two nodes, too small for what comes."""
        self.start_master("--lock-step", *arguments)
        for name in ("a", "b"):
            self.start_node(name, "--host", name, memory="2MiB")
        printed = self.do(
            "replay",
            SAMPLE,
            "--page-bytes=16KiB",
            f"--requests-max={requests}",
            f"--out={self.path(out)}",
            "--json",
        )
        with open(self.path(f"{out}/real.json"), "rb") as file:
            self.assertEqual(file.read(), printed)
        return json.loads(printed)

    def test_the_same_pool_makes_the_same_decisions_with_real_bytes(self):
        first = self.replay("first", 120)
        second = self.replay("second", 120)
        self.assertEqual((first["world"], first["requests"]), ("real", 120))
        self.assertGreater(first["page_hits"], 0)
        self.assertGreater(first["evictions"], 0)
        self.assertEqual(first["bytes_written"], first["puts"] * 16384)
        self.assertGreaterEqual(first["bytes_read"], first["page_hits"] * 16384)
        self.assertEqual(first["series"][-1]["request"], 120)
        self.assertLessEqual(len(first["series"]), 500)
        for name in ("page_hits", "pages", "puts", "evictions", "tokens_hit", "decision_digest"):
            self.assertEqual(first[name], second[name], name)

    def test_another_policy_decides_otherwise(self):
        usual = self.replay("usual", 120)
        fifo = self.replay("fifo", 120, "--policy", "fifo")
        self.assertNotEqual(usual["decision_digest"], fifo["decision_digest"])

    def test_bad_traces_are_errors_with_their_place(self):
        self.start_up("--lock-step", memory="4MiB")
        with open(self.path("bad.jsonl"), "w") as file:
            with open(SAMPLE) as sample:
                file.write(sample.readline())
            file.write('{"timestamp": -1}\n')
        message = self.fail_to(1, "replay", self.path("bad.jsonl"), "--page-bytes", "4KiB")
        self.assertIn("bad.jsonl", message)
        self.assertIn("2", message)
        self.fail_to(1, "replay", self.path("missing.jsonl"))
        self.fail_to(1, "replay", SAMPLE, "--requests-max=1", f"--out={self.path('bad.jsonl')}")
        self.assertFalse(os.path.exists(self.path("real.json")))


if __name__ == "__main__":
    unittest.main()
