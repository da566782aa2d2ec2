"""GET /metrics and GET /health of a running pool: what they say is what was done."""

import http.client
import json
import re
import signal
import unittest

from pool import PoolTest, wait_until

SAMPLE = re.compile(r'^([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\.)*",?)*)\})? (\S+)$')


def fetch(endpoint, path, method="GET"):
    host, _, port = endpoint.rpartition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=10)
    try:
        connection.request(method, path)
        response = connection.getresponse()
        return response.status, response.getheader("Content-Type"), response.read().decode()
    finally:
        connection.close()


class Http(PoolTest):
    def metrics(self, endpoint):
        """{name{labels}: value}, after a check of the format line by line."""
        status, kind, text = fetch(endpoint, "/metrics")
        self.assertEqual((status, kind), (200, "text/plain; version=0.0.4; charset=utf-8"))
        values, types = {}, {}
        for line in text.splitlines():
            if line.startswith("# TYPE "):
                name, kind = line.split()[2:]
                self.assertNotIn(name, types)
                types[name] = kind
            elif not line.startswith("# HELP "):
                name, labels, value = SAMPLE.match(line).groups()
                self.assertIn(types[name], ("gauge", "counter"))
                self.assertEqual(types[name] == "counter", name.endswith("_total"), name)
                values[f"{name}{{{labels}}}" if labels else name] = float(value)
        return values

    def health(self, endpoint):
        status, kind, text = fetch(endpoint, "/health")
        self.assertEqual(kind, "application/json")
        return status, json.loads(text)

    def test_counters_equal_a_recount_of_what_was_done(self):
        self.start_master()
        node = self.start_node("n")
        before = self.metrics(self.master)
        keys = [f"k{i}" for i in range(7)]
        for key in keys:
            self.put(key, key.encode() * 1000)
        self.fail_to(1, "put", "too-large", value=b"x" * (64 << 20))
        self.do("rm", "--force", keys[0])
        self.fail_to(1, "get", keys[0])
        wait_until(lambda: self.metrics(self.master)["larder_master_quarantined_bytes"] == 0, "retired")
        after = self.metrics(self.master)

        def grew(name):
            return after[name] - before.get(name, 0)

        self.assertEqual(grew("larder_master_puts_total"), 8)  # the refused one too
        self.assertEqual(grew('larder_master_refusals_total{code="NO_AVAILABLE_HANDLE"}'), 1)
        self.assertEqual(after["larder_master_objects"], 6)
        self.assertEqual(after["larder_master_capacity_bytes"], 64 << 20)
        status = self.status()
        self.assertEqual(after["larder_master_used_bytes"], status["used"])
        # The node counts the same extents by itself.
        seen = self.metrics(node.endpoint)
        self.assertEqual(seen['larder_node_extents{state="sealed"}'], 6)
        self.assertEqual(seen['larder_node_extents{state="retiring"}'], 0)
        self.assertEqual(seen["larder_node_capacity_bytes"], 64 << 20)
        self.assertEqual(seen["larder_node_registered"], 1)
        self.assertEqual(seen["larder_node_epoch"], after["larder_master_epoch"])

    def test_health_follows_the_process(self):
        master = self.start_master()
        node = self.start_node("n")
        code, said = self.health(self.master)
        self.assertEqual((code, said["role"], said["nodes_shown"]), (200, "master", 1))
        code, said = self.health(node.endpoint)
        self.assertEqual((code, said["role"], said["node"], said["status"]), (200, "node", "n", "ok"))
        master.end(signal.SIGKILL)
        said = wait_until(
            lambda: (lambda answer: answer[0] == 503 and answer[1])(self.health(node.endpoint)),
            "the node misses its master",
        )
        self.assertIn("master", said["status"])

    def test_other_paths_and_methods_are_told(self):
        self.start_up()
        status, _, text = fetch(self.master, "/")
        self.assertEqual(status, 404)
        self.assertIn("/metrics", text)
        self.assertEqual(fetch(self.master, "/metrics", method="POST")[0], 405)
        self.assertEqual(fetch(self.master, "/metrics", method="HEAD")[2], "")
        self.check_serves()


if __name__ == "__main__":
    unittest.main()
