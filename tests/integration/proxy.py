"""A TCP proxy on a thread, for tests that cut or freeze connections between two processes."""

import selectors
import socket
import threading


class Proxy:
    """Forwards each connection to `target` until told otherwise.

    freeze(): nothing passes any more, and nobody is told, as when a cable is pulled. thaw(): what was
    held passes. cut(): every connection is reset; refuse(): and new ones are refused too.
    """

    PIECE = 1 << 16

    def __init__(self, target):
        self.target = target
        self.frozen = self.refusing = self.ended = False
        self.cuts = []  # that are asked for
        self.peers = {}  # socket -> the one to which its bytes go
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.endpoint = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.wake, self.waker = socket.socketpair()
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def freeze(self):
        self._set(frozen=True)

    def thaw(self):
        self._set(frozen=False, refusing=False)

    def cut(self):
        # By the thread that waits for these sockets: nobody else may close them.
        done = threading.Event()
        self.cuts.append(done)
        self._set()
        done.wait()

    def refuse(self):
        self.refusing = True
        self.cut()

    def close(self):
        self._set(ended=True)
        self.thread.join()
        self._reset_all()
        for each in (self.listener, self.wake, self.waker):
            each.close()

    def _set(self, **flags):
        for name, value in flags.items():
            setattr(self, name, value)
        self.waker.send(b"x")

    def _reset_all(self):
        for each in self.peers:
            # Linger of zero seconds: a reset, not an orderly end.
            each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            each.close()
        self.peers.clear()

    def _serve(self):
        while not self.ended:
            while self.cuts:
                self._reset_all()
                self.cuts.pop().set()
            sources = [] if self.frozen else [self.listener, *self.peers]
            with selectors.DefaultSelector() as selector:
                for each in (self.wake, *sources):
                    selector.register(each, selectors.EVENT_READ)
                ready = [key.fileobj for key, _ in selector.select(0.2)]
            for each in ready:
                self._pass_on(each)

    def _pass_on(self, source):
        if source is self.wake:
            self.wake.recv(100)
        elif source is self.listener:
            self._accept()
        elif source in self.peers and not self.frozen:
            try:
                piece = source.recv(self.PIECE)
                if piece:
                    self.peers[source].sendall(piece)
            except OSError:
                piece = b""
            if not piece:
                self._end(source)

    def _accept(self):
        caller, _ = self.listener.accept()
        try:
            if self.refusing:
                raise OSError
            host, _, port = self.target.rpartition(":")
            callee = socket.create_connection((host, int(port)), timeout=5)
        except OSError:
            caller.close()
            return
        for each in (caller, callee):
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            each.settimeout(5)
        self.peers[caller], self.peers[callee] = callee, caller

    def _end(self, source):
        other = self.peers.pop(source)
        self.peers.pop(other, None)
        source.close()
        other.close()
