"""The notebooks run over files of today's programs, and are committed without outputs."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from pool import BINARIES

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "workloads/samples/sessions.jsonl"
NBCONVERT = shutil.which("jupyter-nbconvert", path="/usr/bin")


def program(name, *arguments):
    command = [BINARIES / name, *arguments]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if result.returncode != 0:
        raise AssertionError(f"{command}: {result.stderr}")
    return result.stdout


def has_command(name, command):
    return re.search(rf"^  {command}\b", program(name, "--help"), re.MULTILINE) is not None


class Notebooks(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def execute(self, name, **variables):
        """The texts that its cells printed; a cell that fails is a failure."""
        if NBCONVERT is None:
            self.skipTest("no jupyter-nbconvert of Debian")
        out = self.directory / f"{name}.out.ipynb"
        environment = {key: os.environ[key] for key in os.environ if not key.startswith("PYTHON")}
        environment["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
        environment["HOME"] = str(self.directory)
        environment |= {key: str(value) for key, value in variables.items()}
        result = subprocess.run(
            [NBCONVERT, "--to", "notebook", "--execute", "--ExecutePreprocessor.timeout=300",
             "--output", out, ROOT / f"notebooks/{name}.ipynb"],
            capture_output=True, text=True, timeout=600, env=environment,
        )  # fmt: skip
        self.assertEqual(result.returncode, 0, result.stderr[-4000:])
        cells = json.loads(out.read_text())["cells"]
        return [output for cell in cells for output in cell.get("outputs", [])]

    def plots(self, outputs):
        return sum("image/png" in output.get("data", {}) for output in outputs)

    def test_they_are_committed_without_outputs(self):
        notebooks = list((ROOT / "notebooks").glob("*.ipynb"))
        self.assertEqual(len(notebooks), 3)
        for path in notebooks:
            for cell in json.loads(path.read_text())["cells"]:
                if cell["cell_type"] == "code":
                    self.assertEqual((cell["outputs"], cell["execution_count"]), ([], None), path.name)

    def test_capacity_planning_over_a_run_with_a_fault(self):
        run = self.directory / "run"
        program("larder-sim", "replay", SAMPLE, "--model", "llama-3.1-8b", "--engines", "2",
                "--gpus-per-engine", "1", "--gpu-memory-share", "0.25", "--host-memory", "6GiB",
                "--nodes", "2", "--memory-per-node", "8GiB", "--fail", "node:1@60s+60s",
                "--out", run)  # fmt: skip
        spec = self.directory / "spec.json"
        spec.write_text(json.dumps({
            "trace": str(SAMPLE),
            "setting": {"model": "llama-3.1-8b", "engines": 2, "gpus-per-engine": 1, "nodes": 2,
                        "gpu-memory-share": 0.25, "host-memory": "6GiB", "requests-max": 100},
            "vary": {"memory-per-node": ["4GiB", "16GiB"], "policy": ["lru", "leaf-first"]},
            "seeds": 2}))  # fmt: skip
        program("larder-sim", "sweep", spec, "--out", self.directory / "sweep")
        outputs = self.execute(
            "capacity_planning", LARDER_RUN=run, LARDER_SWEEP=self.directory / "sweep")
        self.assertEqual(self.plots(outputs), 8)

    def test_policies_over_the_sample(self):
        file = self.directory / "hit-rates.json"
        file.write_text(program(
            "larder-sim", "hit-rate", SAMPLE, "--blocks", "100,300,1000,inf", "--json"))
        outputs = self.execute("policies", LARDER_HIT_RATES=file)
        self.assertEqual(self.plots(outputs), 2)

    def test_calibration_over_a_quick_one(self):
        if not has_command("larder", "calibrate"):
            self.skipTest("this larder has no calibrate")
        here = self.directory / "here"
        program("larder", "calibrate", "--quick", "--out", here)
        (here / "validation.json").write_text(program("larder-sim", "validate", here, "--json"))
        outputs = self.execute("calibration", LARDER_CALIBRATION=here)
        self.assertGreaterEqual(self.plots(outputs), 2)


if __name__ == "__main__":
    unittest.main()
