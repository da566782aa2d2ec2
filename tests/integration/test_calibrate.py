"""A machine is calibrated with real pools, and the simulator held against it. Never how fast it is."""

import json
import os
import subprocess
import unittest

from pool import BINARIES, LARDER, PoolTest


class Calibrate(PoolTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.simulator = BINARIES / "larder-sim"

    def calibrate(self, code, *arguments):
        result = self.run_program(LARDER, "calibrate", *arguments, timeout=300)
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    def simulate(self, *arguments, code=0):
        done = subprocess.run(
            [self.simulator, *arguments], capture_output=True, text=True, timeout=300
        )
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout if code == 0 else done.stderr

    def read(self, name):
        with open(self.path(f"here/{name}")) as file:
            return json.load(file)

    def test_what_was_measured_is_simulated(self):
        out = self.path("here")
        said = self.calibrate(0, "--quick", "--out", out).stdout.decode()
        self.assertIn("not measured: shm: this version has no such transport", said)
        self.assertIn("not measured: registration: ", said)

        self.files_are_whole()
        shown = self.simulate("hardware", f"{out}/host.json")
        self.assertIn("this-machine", shown)
        self.validation_is_whole(json.loads(self.simulate("validate", "--json", out)))
        text = self.simulate("validate", out, "--out", f"{out}/fitted.json")
        self.assertIn("judged, all", text)
        self.assertIn("thread_bytes_per_second", text)
        self.machines_like_this_one_replay(out)
        self.damage_is_found(out)

    def files_are_whole(self):
        host = self.read("host.json")["hosts"][0]
        self.assertEqual(host["cores"], os.cpu_count())
        costs = self.read("costs.json")
        self.assertEqual([each["transport"] for each in costs["transports"]], ["local", "tcp"])
        for transport in costs["transports"]:
            for name, figure in transport.items():
                if name == "transport":
                    continue
                self.assertLessEqual(figure["low"], figure["value"], name)
                self.assertLessEqual(figure["value"], figure["high"], name)
        measured = self.read("measured.json")
        self.assertEqual(measured["machine"], costs["machine"])
        self.assertEqual(len(measured["workloads"]), 7)
        for workload in measured["workloads"]:
            self.assertEqual(len(workload["runs"]), 2)
            for run in workload["runs"]:
                self.assertGreater(run["moved_bytes"], 0)
                self.assertGreater(run["calls"], 0)
                self.assertLessEqual(run["p50_ns"], run["p99_ns"])
                # Over tcp three processes work; in one process all of it is the client's.
                self.assertEqual(run["node_cpu_ns"] > 0, workload["transport"] == "tcp")

    def validation_is_whole(self, validation):
        self.assertEqual(
            [each["fitted"] for each in validation["workloads"]],
            # Of each operation over each transport every second one.
            [True, False, True, False, False, True, True],
        )
        for workload in validation["workloads"]:
            for name in ("bytes_per_second", "p50_ns", "p99_ns"):
                compared = workload[name]
                for which in ("measured", "predicted"):
                    interval = compared[which]
                    self.assertGreater(interval["low"], 0)
                    self.assertLessEqual(interval["low"], interval["value"])
                    self.assertLessEqual(interval["value"], interval["high"])
                self.assertLessEqual(compared["error_beyond_spread"], compared["error"] + 1e-9)
        for which in ("judged", "judged_beyond_spread"):
            self.assertLessEqual(validation[which]["median"], validation[which]["worst"])

    def machines_like_this_one_replay(self, out):
        run = json.loads(self.simulate(
            "replay", "workloads/samples/sessions.jsonl", "--cluster", f"calibrated:{out}",
            "--hosts", "2", "--serving", "off", "--nodes", "2", "--memory-per-node", "1GiB",
            "--model", "llama-3.1-8b", "--transport", "tcp", "--requests-max", "50", "--json"))  # fmt: skip
        self.assertEqual(run["calibration"], self.read("fitted.json"))
        self.assertEqual(run["hardware"]["hosts"][0]["cores"], os.cpu_count())
        self.assertEqual(run["requests"]["completed"], 50)
        ttft = run["spread"]["ttft_mean_s"]
        self.assertEqual(run["spread"]["runs"], 3)
        self.assertLessEqual(ttft["least"], run["ttft"]["mean_s"])
        self.assertGreaterEqual(ttft["most"], run["ttft"]["mean_s"])

    def damage_is_found(self, out):
        path = f"{out}/measured.json"
        with open(path) as file:
            text = file.read()
        with open(path, "w") as file:
            file.write(text.replace('"clients": 2', '"clients": 0', 1))
        said = self.simulate("validate", out, code=1)
        self.assertIn("measured.json: /workloads/3/clients: 0 is not from 1 to 1024", said)
        os.remove(path)
        self.assertIn("measured.json", self.simulate("validate", out, code=1))
        self.simulate("validate", code=2)

    def test_wrong_usage_and_a_place_that_cannot_be_written(self):
        self.calibrate(2)
        with open(self.path("file"), "w"):
            pass
        self.assertIn(b"file/below", self.calibrate(1, "--out", self.path("file/below")).stderr)

    def test_help_says_how_long_it_takes(self):
        said = self.calibrate(0, "--help").stdout
        self.assertIn(b"Takes about ", said)
        self.assertIn(b" min", said)


if __name__ == "__main__":
    unittest.main()
