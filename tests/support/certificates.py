"""Certificates for a server on loopback and a client, made by the ``openssl`` tool."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

KEY_PASSWORD = "key-secret"


@dataclass(frozen=True)
class Certificates:
    """``ca`` signed ``server``, for 127.0.0.1, and ``client``; both are files with key and certificate, in PEM."""

    folder: Path

    @cached_property
    def ca(self) -> Path:
        file = self.folder / "ca.pem"
        usage = "keyUsage=critical,keyCertSign"  # which Python 3.13 asks for
        self._make("ca", "-x509", "-addext", usage, "-keyout", str(self.folder / "ca.key"), "-out", str(file))
        return file

    @cached_property
    def server(self) -> Path:
        return self._signed("server", "subjectAltName=IP:127.0.0.1")

    @cached_property
    def client(self) -> Path:
        return self._signed("client", "subjectAltName=DNS:client")

    @cached_property
    def encrypted_key(self) -> Path:
        """The key of the client, with a password."""
        file = self.folder / "encrypted.key"
        _openssl("pkcs8", "-topk8", "-in", str(self.client), "-out", str(file), "-passout", f"pass:{KEY_PASSWORD}")
        return file

    def _signed(self, name: str, extension: str) -> Path:
        key, certificate, both = (self.folder / f"{name}.{end}" for end in ("key", "crt", "pem"))
        signer = ("-CA", str(self.ca), "-CAkey", str(self.folder / "ca.key"))
        self._make(
            name,
            "-x509",
            *signer,
            "-addext",
            "basicConstraints=CA:FALSE",
            "-addext",
            extension,
            "-keyout",
            str(key),
            "-out",
            str(certificate),
        )
        both.write_text(key.read_text() + certificate.read_text())
        return both

    def _make(self, name: str, *options: str) -> None:
        curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
        _openssl("req", *curve, "-days", "36500", "-subj", f"/CN=kwire {name}", *options)


def _openssl(*arguments: str) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("the openssl tool makes the certificates")
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)
