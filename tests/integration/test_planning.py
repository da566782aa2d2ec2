"""Whole runs of the planning simulator, for what only a process shows."""

import json
import os
import subprocess
import tempfile
import unittest

from pool import BINARIES, SANITIZED

SIMULATOR = BINARIES / "larder-sim"
REQUESTS = 2_000
BLOCKS = 12


def rows(times):
    """A trace of prompts that share what they begin with, so often one after the other: always the same pages."""
    for turn in range(times):
        for number in range(REQUESTS):
            family = number % 40
            ids = [family * 1_000 + block for block in range(BLOCKS // 2)]
            ids += [number * 100 + 1_000_000 + block for block in range(BLOCKS - BLOCKS // 2)]
            yield {
                "timestamp": (turn * REQUESTS + number) * 200,
                "input_length": BLOCKS * 512,
                "output_length": 8,
                "hash_ids": ids,
            }


class StatementE13(unittest.TestCase):
    """Of a whole replay, with its cluster, engines, pool and the files that it writes."""

    DEPLOYMENT = (
        *("--cluster", "8xh800-8x200", "--hosts", "2", "--model", "llama-3.1-8b"),
        *("--engines", "2", "--gpus-per-engine", "1", "--host-memory", "64GiB"),
        *("--nodes", "2", "--memory-per-node", "128GiB", "--misses"),
    )

    def peak_and_run(self, times):
        with tempfile.TemporaryDirectory() as directory:
            trace = f"{directory}/trace.jsonl"
            with open(trace, "w") as file:
                for row in rows(times):
                    file.write(json.dumps(row) + "\n")
            out = f"{directory}/run"
            process = subprocess.Popen(
                [SIMULATOR, "replay", trace, "--out", out, *self.DEPLOYMENT],
                stdout=subprocess.DEVNULL,
            )
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(process.returncode, 0)
            with open(f"{out}/run.json") as file:
                return usage.ru_maxrss << 10, json.load(file)

    @unittest.skipIf(SANITIZED, "a sanitizer keeps what was freed for a while")
    def test_memory_does_not_grow_with_the_rows(self):
        once, run = self.peak_and_run(1)
        often, longer = self.peak_and_run(8)
        self.assertEqual(run["requests"]["completed"], REQUESTS)
        self.assertEqual(longer["requests"]["completed"], 8 * REQUESTS)
        # The pool is what it is, and was full early in both.
        self.assertGreater(run["pool"]["evicted_objects"], 0)
        self.assertGreater(longer["pool"]["evicted_objects"], 4 * run["pool"]["evicted_objects"])
        self.assertLess(often, once + (2 << 20), f"{once} bytes, and {often} with 8 times the rows")


if __name__ == "__main__":
    unittest.main()
