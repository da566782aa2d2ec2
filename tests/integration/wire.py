"""Just enough of the wire format (real/rpc, proto/larder.proto) to misbehave on purpose."""

import socket
import struct

MAGIC = b"LARDER\r\n"
MAJOR, MINOR = 1, 0
CONTROL, DATA = 1, 2
ACCEPTED, VERSION_REFUSED = 1, 2
REQUEST, REPLY, REFUSAL = 1, 2, 3
FILL = 10


def address(endpoint):
    host, port = endpoint.rsplit(":", 1)
    return host, int(port)


def connect(endpoint, timeout=10):
    return socket.create_connection(address(endpoint), timeout)


def hello(code, major=MAJOR, minor=MINOR, text=b"test"):
    return MAGIC + struct.pack("<HHBBH", major, minor, code, 0, len(text)) + text


def read_exactly(connection, length):
    data = b""
    while len(data) < length:
        piece = connection.recv(length - len(data))
        if not piece:
            raise ConnectionError("closed")
        data += piece
    return data


def read_hello(connection):
    head = read_exactly(connection, 16)
    assert head[:8] == MAGIC, head
    major, minor, code, _, length = struct.unpack("<HHBBH", head[8:])
    return major, minor, code, read_exactly(connection, length).decode()


def frame(kind, body, ticket=1, length=None):
    return struct.pack("<IB3xQ", len(body) if length is None else length, kind, ticket) + body


def read_frame(connection):
    """(kind, ticket, body)"""
    length, kind, ticket = struct.unpack("<IB3xQ", read_exactly(connection, 16))
    return kind, ticket, read_exactly(connection, length)


class Control:
    """A control connection whose handshake is done."""

    def __init__(self, endpoint, role=CONTROL):
        self.connection = connect(endpoint)
        self.connection.sendall(hello(role))
        code = read_hello(self.connection)[2]
        assert code == ACCEPTED, code

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def keep_alive_with_epoch(self, epoch):
        """A request whose sender has been shown this epoch."""
        session = b"\x0a\x12" + b"\x09" + struct.pack("<Q", 1) + b"\x11" + struct.pack("<Q", 2)
        highest_epoch = b"\x21" + struct.pack("<Q", epoch)
        keep_alive = b"\x62\x00"
        self.connection.sendall(frame(REQUEST, session + highest_epoch + keep_alive))
