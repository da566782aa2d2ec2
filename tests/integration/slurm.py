"""Slurm on this machine: one controller and one node, as processes of a test, with files of their own."""

import contextlib
import getpass
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time
import unittest

from pool import die_with_parent

PROGRAMS = ("slurmctld", "slurmd", "munged", "sbatch", "scancel", "sinfo")
PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
CONFIGURATION = """
ClusterName=one
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={directory}/munge/socket
CryptoType=crypto/munge
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/slurmd.pid
SlurmctldPort={controller_port}
SlurmdPort={node_port}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
SwitchType=switch/none
PropagateResourceLimits=NONE
NodeName={host} NodeAddr=127.0.0.1 CPUs={processors}
PartitionName=all Nodes={host} Default=YES State=UP OverSubscribe=FORCE:8
"""


def needs_slurm(test):
    missing = [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]
    text = f"no {', '.join(missing)}: apt-get install slurmctld slurmd slurm-client munge"
    return unittest.skip(text)(test) if missing else test


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Slurm(contextlib.AbstractContextManager):
    """with Slurm() as slurm: slurm.run_array("0-3", command)"""

    def __enter__(self):
        self.stack = contextlib.ExitStack()
        self.directory = pathlib.Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        self.stack.callback(self.end)
        self.processes = []
        for name in ("munge", "state", "spool"):
            (self.directory / name).mkdir(mode=0o700)
        key = self.directory / "munge/key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        (self.directory / "slurm.conf").write_text(CONFIGURATION.format(
            host=socket.gethostname().split(".")[0], user=getpass.getuser(),
            directory=self.directory, processors=os.cpu_count(),
            controller_port=free_port(), node_port=free_port()))  # fmt: skip
        self.environment = {**os.environ, "PATH": PATH,
                            "SLURM_CONF": str(self.directory / "slurm.conf")}  # fmt: skip
        munge = self.directory / "munge"
        try:
            self.start("munged", "--foreground", "--force", f"--key-file={munge}/key",
                       f"--socket={munge}/socket", f"--pid-file={munge}/pid",
                       f"--log-file={munge}/log", f"--seed-file={munge}/seed")  # fmt: skip
            self.wait_until(lambda: (munge / "socket").exists(), "munged listens")
            self.start("slurmctld", "-D", "-c")
            self.start("slurmd", "-D")
            self.wait_until(lambda: self.call("sinfo", "-h", "-o", "%T").stdout.strip() == "idle",
                            "the node is idle")  # fmt: skip
        except BaseException:
            self.stack.close()
            raise
        return self

    def __exit__(self, *_):
        self.stack.close()

    def start(self, name, *arguments):
        with open(self.directory / f"{name}.log", "w") as log:
            self.processes.append(subprocess.Popen(
                [shutil.which(name, path=PATH), *arguments], stdout=log, stderr=log,
                stdin=subprocess.DEVNULL, env=self.environment, preexec_fn=die_with_parent))  # fmt: skip

    def call(self, name, *arguments, timeout=60):
        return subprocess.run([name, *arguments], capture_output=True, text=True, timeout=timeout,
                              env=self.environment)  # fmt: skip

    def wait_until(self, condition, what):
        deadline = time.monotonic() + 60
        while not condition():
            if time.monotonic() > deadline:
                logs = "".join(file.read_text()[-1500:] for file in self.directory.glob("*.log"))
                raise AssertionError(f"not within 60 s: {what}\n{logs}")
            time.sleep(0.1)

    def run_array(self, numbers, command):
        """Waits for all tasks; what they printed, by task."""
        out = self.directory / "out"
        out.mkdir()
        done = self.call("sbatch", "--wait", f"--array={numbers}", f"--output={out}/%a",
                         "--wrap", command, timeout=300)  # fmt: skip
        said = {file.name: file.read_text() for file in sorted(out.iterdir())}
        if done.returncode != 0:
            raise AssertionError(f"{done.stderr}{said}")
        return said

    def end(self):
        self.call("scancel", "--user", getpass.getuser())
        for process in reversed(self.processes):
            process.terminate()
            process.wait(timeout=60)
