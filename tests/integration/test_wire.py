"""Whatever comes in at a port: the server closes that connection and goes on serving."""

import os
import random
import socket
import struct
import threading
import unittest

import wire
from pool import PoolTest, wait_until


def wait_closed(connection):
    """Reads until the peer has closed."""
    try:
        while connection.recv(65536):
            pass
    except ConnectionError:
        pass


def send_and_finish(connection, data):
    """The peer may close before everything has been sent."""
    try:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
    except OSError:
        pass
    wait_closed(connection)


class Garbage(PoolTest):
    def setUp(self):
        super().setUp()
        self.server = self.start_up(memory="16MiB")
        self.ports = {"master": self.master, "node": self.node_endpoint()}

    def check(self, first_bytes, closes=True):
        for name, port in self.ports.items():
            with self.subTest(port=name), wire.connect(port) as connection:
                if closes:
                    send_and_finish(connection, first_bytes)
                else:
                    connection.sendall(first_bytes)
                self.check_serves()

    def test_random_bytes(self):
        draw = random.Random(7)
        for length in (1, 15, 16, 17, 100, 100_000):
            self.check(draw.randbytes(length))

    def test_an_http_request(self):
        self.check(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")

    def test_half_a_handshake_that_waits(self):
        self.check(wire.hello(wire.CONTROL)[:9], closes=False)

    def test_a_role_that_nobody_has(self):
        self.check(wire.hello(77))

    def test_frames_that_are_none(self):
        roles = {"master": wire.CONTROL, "node": wire.DATA}
        draw = random.Random(8)
        frames = [
            wire.frame(wire.REQUEST, b"", length=100),  # half a frame, then the end
            wire.frame(wire.REQUEST, b"x" * 50, length=100),
            wire.frame(wire.REQUEST, b"", length=2**32 - 1),  # no frame is that long
            wire.frame(200, b""),
            struct.pack("<IB3sQ", 0, wire.REQUEST, b"\1\1\1", 1),
            draw.randbytes(1000),
        ]
        frames += [wire.frame(kind, draw.randbytes(64)) for kind in (1, 2, 3, 4, 10, 11, 12, 13)]
        for name, port in self.ports.items():
            for bad in frames:
                with self.subTest(port=name, frame=bad[:20]):
                    with wire.Control(port, roles[name]) as control:
                        send_and_finish(control.connection, bad)
        self.check_serves()

    def test_a_thousand_of_them_leave_few_lines_in_the_log(self):
        for _ in range(1000):
            with wire.connect(self.master) as connection:
                connection.sendall(b"x" * 16)
        self.check_serves()
        self.assertLess(len(self.server.log_text().splitlines()), 100)


class Versions(PoolTest):
    def test_a_caller_of_another_version_is_told_both(self):
        self.start_up(memory="4MiB")
        for port in (self.master, self.node_endpoint()):
            with wire.connect(port) as connection:
                connection.sendall(wire.hello(wire.CONTROL, major=wire.MAJOR + 1, minor=3))
                major, minor, code, text = wire.read_hello(connection)
                self.assertEqual((major, minor), (wire.MAJOR, wire.MINOR))
                self.assertEqual(code, wire.VERSION_REFUSED)
                self.assertIn(f"{wire.MAJOR + 1}.3", text)
                self.assertIn(f"{wire.MAJOR}.{wire.MINOR}", text)
        self.check_serves()

    def test_a_client_fails_at_connect_and_names_both(self):
        with socket.create_server(("127.0.0.1", 0)) as future:
            self.master = "127.0.0.1:%d" % future.getsockname()[1]

            def serve():
                connection, _ = future.accept()
                with connection:
                    wire.read_hello(connection)
                    connection.sendall(wire.hello(wire.ACCEPTED, major=9, minor=4))
                    wait_closed(connection)

            thread = threading.Thread(target=serve, daemon=True)
            thread.start()
            message = self.fail_to(1, "status")
            thread.join(10)
        self.assertIn("INVALID_VERSION", message)
        self.assertIn("9.4", message)
        self.assertIn(f"{wire.MAJOR}.{wire.MINOR}", message)


class Crowds(PoolTest):
    def test_a_hundred_clients_at_once(self):
        self.start_up(memory="64MiB")
        values = {f"client/{i}": os.urandom(10_000 + i) for i in range(100)}
        writers = []
        for key, value in values.items():
            path = self.path(key.replace("/", "-"))
            with open(path, "wb") as file:
                file.write(value)
            writers.append(self.popen("put", key, path))
        for writer in writers:
            _, message = writer.communicate(timeout=120)
            self.assertEqual(writer.returncode, 0, message)
        readers = {key: self.popen("get", key) for key in values}
        for key, reader in readers.items():
            value, message = reader.communicate(timeout=120)
            self.assertEqual(reader.returncode, 0, message)
            self.assertEqual(value, values[key])
        wait_until(lambda: self.status()["sessions"] == 1, "all sessions have ended")

    def test_a_call_for_many_keys_is_answered_in_order(self):
        self.start_up(memory="4MiB")
        self.put("there", b"x")
        keys = [f"k/{i}" for i in range(2000)]
        keys[700] = keys[1999] = "there"
        answers = self.do("exists", *keys).decode().split("\n")[:-1]
        self.assertEqual([i for i, line in enumerate(answers) if line[:3] == "yes"], [700, 1999])
        self.assertEqual([line[5:] for line in answers], keys)


if __name__ == "__main__":
    unittest.main()
