"""Runs exactly the commands of README.md: each block that is marked as `sh`, in order, in one shell.

They use the ports and paths that a reader would, so they have a network of their own where the machine
allows it (and the default port must be free where it does not).
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Ends at the first command that fails, and says which one it was.
PROLOGUE = """
set -Eeumo pipefail
trap 'echo "FAILED in line $LINENO: $BASH_COMMAND" >&2' ERR
"""
OWN_NETWORK = ["unshare", "--user", "--map-root-user", "--net", "--pid", "--fork", "--kill-child"]


def blocks():
    return BLOCK.findall((ROOT / "README.md").read_text())


def own_network():
    """The command that gives a process a network of its own, with loopback; empty where it cannot be."""
    up = ["sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    if not (shutil.which("unshare") and shutil.which("ip")):
        return []
    works = subprocess.run([*OWN_NETWORK, *up, "true"], capture_output=True).returncode == 0
    return [*OWN_NETWORK, *up] if works else []


class Readme(unittest.TestCase):
    def test_there_are_commands_to_run(self):
        self.assertGreaterEqual(len(blocks()), 3)
        for block in blocks():
            for line in block.splitlines():
                self.assertFalse(re.match(r"\s*(sudo|apt)\b", line), line)

    def test_its_commands_work(self):
        if not os.environ.get("LARDER", "").endswith("build/release/bin/larder"):
            self.skipTest("README.md names the programs of the release build")
        shutil.rmtree("/var/tmp/larder", ignore_errors=True)
        shell = subprocess.Popen(
            [*own_network(), "bash", "-c", PROLOGUE + "\n".join(blocks())],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            said, errors = shell.communicate(timeout=300)
        finally:
            # Whatever it has left running.
            try:
                os.killpg(shell.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.assertEqual(shell.returncode, 0, f"{errors[-3000:]}\n{said[-2000:]}")
        for expected in self.promises():
            self.assertIn(expected, said)

    @staticmethod
    def promises():
        """What a reader is told to see: lines of the README that begin with `# ->`."""
        found = re.findall(r"# -> (.*)$", "\n".join(blocks()), re.MULTILINE)
        assert found, "no block says what is to be seen"
        return found


if __name__ == "__main__":
    unittest.main()
