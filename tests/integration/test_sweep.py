"""A sweep whose runs several processes share, as mpirun and Slurm start them, is that of one process."""

import json
import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile
import unittest

import slurm
from pool import BINARIES

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIMULATOR = BINARIES / "larder-sim"
SPEC = {
    "trace": str(ROOT / "workloads/samples/sessions.jsonl"),
    "setting": {"model": "llama-3.1-8b", "hosts": 2, "engines": 2, "gpus-per-engine": 1,
                "host-memory": "128GiB", "nodes": 2, "requests-max": 60},
    "vary": {"memory-per-node": ["1GiB", "4GiB"], "policy": ["lru", "leaf-first"]},
    "seeds": 2,
}  # fmt: skip
RUNS = 8


class Sweep(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.directory = pathlib.Path(directory.name)
        cls.spec = cls.directory / "spec.json"
        cls.spec.write_text(json.dumps(SPEC))
        alone = cls.directory / "alone"
        result = subprocess.run(cls.command(alone), capture_output=True, text=True, timeout=300)
        if result.returncode != 0:
            raise AssertionError(result.stderr)
        cls.whole = (alone / "sweep.csv").read_bytes()
        assert cls.whole.count(b"\n") == RUNS + 1

    @classmethod
    def command(cls, out):
        return [str(SIMULATOR), "sweep", str(cls.spec), "--out", str(out)]

    def shared_by(self, workers, out):
        """Each did its share, and the last one joined them."""
        shares = sorted(file.name for file in out.glob("part-*.csv"))
        self.assertEqual(shares, [f"part-{number}-of-{workers}.csv" for number in range(workers)])
        for number in range(workers):
            rows = (out / f"part-{number}-of-{workers}.csv").read_text().splitlines()[1:]
            runs = sorted(int(row.split(",")[0]) for row in rows)
            self.assertEqual(runs, list(range(number, RUNS, workers)))
        self.assertEqual((out / "sweep.csv").read_bytes(), self.whole)

    @unittest.skipUnless(shutil.which("mpirun"), "no mpirun: apt-get install openmpi-bin")
    def test_under_mpirun(self):
        environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1",
                       "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}  # fmt: skip
        for ranks in (2, 3, 4):
            out = self.directory / f"mpi{ranks}"
            result = subprocess.run(
                ["mpirun", "--oversubscribe", "-n", str(ranks), *self.command(out)],
                capture_output=True, text=True, timeout=300, env=environment)  # fmt: skip
            self.assertEqual(result.returncode, 0, result.stderr)
            self.shared_by(ranks, out)

    @slurm.needs_slurm
    def test_in_a_slurm_array(self):
        out = self.directory / "slurm"
        with slurm.Slurm() as cluster:
            # Numbers that do not begin at 0, as people have them.
            said = cluster.run_array("5-7", shlex.join(self.command(out)))
        self.assertEqual(list(said), ["5", "6", "7"])
        self.assertIn(f"{RUNS} runs: {out}/sweep.csv", "".join(said.values()))
        self.shared_by(3, out)


if __name__ == "__main__":
    unittest.main()
