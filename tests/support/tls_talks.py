"""Conversations through TLS, encrypted by Python's ssl, and the key logs of it."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen

import pytest

from kwire.connection import CLIENT, SERVER, Direction
from tests.support.capture_files import Conversation, Segment

NAME = "broker.example"
OTHER: dict[Direction, Direction] = {CLIENT: SERVER, SERVER: CLIENT}


def certificate(folder: Path) -> Path:
    """A file with a key and a certificate signed by itself."""
    pytest.importorskip("cryptography")
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(65537, 2048)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, NAME)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    encodings = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    path = folder / "certificate.pem"
    path.write_bytes(key.private_bytes(*encodings) + made.public_bytes(serialization.Encoding.PEM))
    return path


@dataclass
class Tls:
    """The two ends of connections: ``client`` and ``server`` may be changed before they are used."""

    client: ssl.SSLContext
    server: ssl.SSLContext
    session: ssl.SSLSession | None = None
    resumed: bool = False

    @classmethod
    def make(cls, pem: Path, keys: Path, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3, ciphers: str = "") -> Tls:
        """Contexts of one version, of which the client logs its secrets to ``keys``."""
        client, server = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.load_cert_chain(pem)
        client.load_verify_locations(pem)
        client.keylog_filename = str(keys)
        for context in (client, server):
            context.minimum_version = context.maximum_version = version
            if ciphers:
                context.set_ciphers(ciphers)
        return cls(client, server)

    def asks_for_certificates(self, pem: Path) -> None:
        """Both ends have one."""
        self.client.load_cert_chain(pem)
        self.server.load_verify_locations(pem)
        self.server.verify_mode = ssl.CERT_REQUIRED

    def through(self, talk: Conversation, split: Callable[[bytes], Iterator[bytes]] | None = None) -> Conversation:
        """The conversation as it is on the wire; ``split`` cuts what is written at once."""
        ends = _Ends(self, talk.segments[0][1] if talk.segments else 0.0)
        ends.shake_hands()
        for direction, time, data in talk.segments:
            ends.time = time
            for part in split(data) if split else [data]:
                ends.say(direction, part)
        self.session = ends.objects[CLIENT].session
        self.resumed = bool(ends.objects[CLIENT].session_reused)
        ends.finish()
        return replace(talk, segments=ends.segments)


@dataclass
class _Ends:
    tls: Tls
    time: float
    segments: list[Segment] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.incoming = {CLIENT: ssl.MemoryBIO(), SERVER: ssl.MemoryBIO()}
        self.outgoing = {CLIENT: ssl.MemoryBIO(), SERVER: ssl.MemoryBIO()}
        client = self.tls.client.wrap_bio(
            self.incoming[CLIENT], self.outgoing[CLIENT], server_hostname=NAME, session=self.tls.session
        )
        server = self.tls.server.wrap_bio(self.incoming[SERVER], self.outgoing[SERVER], server_side=True)
        self.objects: dict[Direction, ssl.SSLObject] = {CLIENT: client, SERVER: server}

    def shake_hands(self) -> None:
        done: set[Direction] = set()
        while len(done) < 2:
            for direction in (CLIENT, SERVER):
                try:
                    self.objects[direction].do_handshake()
                    done.add(direction)
                except ssl.SSLWantReadError:
                    pass
                self.send(direction)

    def send(self, direction: Direction) -> None:
        if data := self.outgoing[direction].read():
            self.segments.append((direction, self.time, data))
            self.incoming[OTHER[direction]].write(data)

    def say(self, direction: Direction, data: bytes) -> None:
        self.objects[direction].write(data)
        self.send(direction)
        heard = b""
        while len(heard) < len(data):
            heard += self.objects[OTHER[direction]].read(1 << 16)
        assert heard == data

    def finish(self) -> None:
        for direction in (CLIENT, SERVER):
            with suppress(ssl.SSLError):
                self.objects[direction].unwrap()
            self.send(direction)


@dataclass
class Recorder:
    """Runs OpenSSL's client against a server that answers in upper case, and records what is on the wire."""

    pem: Path
    keys: Path

    def talk(self, lines: Sequence[bytes]) -> Conversation:
        """What both say if these lines are the client's input; each waits until the wire is silent."""
        self.segments: list[Segment] = []
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.pem)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            command = ["openssl", "s_client", "-quiet", "-no_ign_eof", "-tls1_3", "-keylogfile", str(self.keys)]
            command += ["-connect", f"127.0.0.1:{listener.getsockname()[1]}"]
            process = Popen(command, stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL)
            try:
                self._serve(context, listener, process, lines)
            finally:
                process.kill()
                process.wait()
        return Conversation(self.segments)

    def _serve(
        self, context: ssl.SSLContext, listener: socket.socket, process: Popen[bytes], lines: Sequence[bytes]
    ) -> None:
        assert process.stdin is not None
        listener.settimeout(20)
        client, _ = listener.accept()
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        server = context.wrap_bio(incoming, outgoing, server_side=True)
        with client:
            client.settimeout(0.3)
            done, left = False, [*lines]
            while True:
                try:
                    data = client.recv(1 << 16)
                except TimeoutError:
                    if not left:
                        return
                    process.stdin.write(left.pop(0))
                    process.stdin.flush()
                    continue
                if not data:
                    return
                self.segments.append((CLIENT, len(self.segments) / 100, data))
                incoming.write(data)
                with suppress(ssl.SSLWantReadError):
                    if not done:
                        server.do_handshake()
                        done = True
                    while True:
                        server.write(server.read(1 << 16).upper())
                if data := outgoing.read():
                    self.segments.append((SERVER, len(self.segments) / 100, data))
                    client.sendall(data)
