"""A cable between this machine and a network namespace on it, for tests that pull it out.

What is under way then is lost, and neither side is told: no reset, no end of stream, no ICMP.
"""

import json
import os
import subprocess
import time


class NoCable(Exception):
    """This machine does not let us make one."""


class Cable:
    def __init__(self):
        number = os.getpid() % 65_000
        self.namespace = f"larder-{number}"
        self.here_name, self.there_name = f"lh{number}", f"lt{number}"
        subnet = f"10.213.{number % 250}"
        self.here, self.there = f"{subnet}.1", f"{subnet}.2"
        self.made = []
        try:
            self._make()
        except (OSError, subprocess.CalledProcessError) as error:
            self.destroy()
            message = getattr(error, "stderr", None) or str(error)
            raise NoCable(message) from error

    def _make(self):
        self._ip("netns", "add", self.namespace)
        self.made.append(("netns", "del", self.namespace))
        self._ip("link", "add", self.here_name, "type", "veth", "peer", "name", self.there_name)
        self.made.append(("link", "del", self.here_name))
        self._ip("link", "set", self.there_name, "netns", self.namespace)
        self._ip("addr", "add", f"{self.here}/24", "dev", self.here_name)
        self._ip("link", "set", self.here_name, "up")
        self._there("addr", "add", f"{self.there}/24", "dev", self.there_name)
        self._there("link", "set", "lo", "up")
        self.plug()

    def plug(self):
        """Packets pass again when it returns."""
        self._there("link", "set", self.there_name, "up")
        # The kernel uses a link up to a second after it is set up; until then it drops packets, and
        # says for a while that there is no route to whom it asked for in vain.
        deadline = time.monotonic() + 10
        while not (self._is_up(self.here_name) and self._is_up(self.there_name, "-n", self.namespace)):
            if time.monotonic() > deadline:
                raise AssertionError(f"{self.here_name} does not come up")
            time.sleep(0.02)
        self._ip("neigh", "flush", "dev", self.here_name)
        self._there("neigh", "flush", "dev", self.there_name)

    def pull(self):
        self._there("link", "set", self.there_name, "down")

    def inside(self, *words):
        """A command that runs at the other end."""
        return ["ip", "netns", "exec", self.namespace, *words]

    def destroy(self):
        while self.made:
            subprocess.run(["ip", *self.made.pop()], capture_output=True)

    @classmethod
    def _is_up(cls, name, *place):
        return json.loads(cls._ip(*place, "-json", "link", "show", name))[0]["operstate"] == "UP"

    @staticmethod
    def _ip(*words):
        return subprocess.run(["ip", *words], check=True, capture_output=True, text=True).stdout

    def _there(self, *words):
        self._ip("-n", self.namespace, *words)
