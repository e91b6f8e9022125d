"""What the commands share that talk to a broker: where it is, how to log in, and what a failure leads to."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from getpass import getpass
from typing import TYPE_CHECKING

from kwire.command.options import put
from kwire.errors import DecodeError, EncodeError, KwireError, UnknownNameError, printable
from kwire.json_form import JsonFormError

if TYPE_CHECKING:
    from kwire.client import Client, Security
    from kwire.protocol import MessageRegistry

MAX_RESPONSE = 2 << 20
"""Bytes of a response, unless the user says otherwise: as JSON it may take 200 times as much memory."""
UNDECODABLE, FAILED, INTERRUPTED = 1, 3, 130
EXIT_CODES = """
exit codes: 0 answered, 1 the answer cannot be decoded, 2 usage error,
            3 no answer: not reachable, not Kafka, not TLS, login refused, or the request refused
"""

_USAGE = (EncodeError, JsonFormError, UnknownNameError, ValueError)  # a SecurityError is a ValueError


def add_options(parser: argparse.ArgumentParser) -> None:
    """The address, and the options of the connection."""
    parser.add_argument("address", metavar="HOST:PORT", help="address of the broker (default port: 9092)")
    how = parser.add_argument_group("connection (default: plain text, no login)")
    how.add_argument("--config", metavar="FILE", help="properties file of a client: security.protocol, sasl.*, ssl.*")
    how.add_argument("--tls", action="store_true", help="speak TLS")
    how.add_argument("--ca", metavar="FILE", help="certificates to trust, in PEM (default: those of the system)")
    how.add_argument("--cert", metavar="FILE", help="certificate of the client, in PEM, with its key or --key")
    how.add_argument("--key", metavar="FILE", help="key of the certificate; KWIRE_KEY_PASSWORD decrypts it")
    how.add_argument("--mechanism", help="log in: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER")
    how.add_argument("--user", help="name of the user")
    how.add_argument(
        "--password-file", metavar="FILE", help="file of the password (default: KWIRE_PASSWORD, or it is asked for)"
    )
    how.add_argument("--token-file", metavar="FILE", help="file of an OAUTHBEARER token (default: KWIRE_TOKEN)")
    how.add_argument(
        "--plaintext-login", action="store_true", help="let PLAIN and OAUTHBEARER log in elsewhere without TLS"
    )
    how.add_argument("--timeout", type=seconds, default=10.0, help="seconds to connect, and per call (default: 10)")
    how.add_argument(
        "--max-response",
        metavar="MIB",
        type=mebibytes,
        default=MAX_RESPONSE,
        help=f"limit of a response, up to 300 (default: {MAX_RESPONSE >> 20})",
    )


def talk(options: argparse.Namespace, protocol: MessageRegistry, what: Callable[[Client], Awaitable[int]]) -> int:
    """The exit code of ``what`` on a connection; one line and its exit code if that fails."""
    import asyncio

    from kwire.client import connect, parse_address

    try:
        (host, port), how = parse_address(options.address), security(options)
        how.check(host)
    except (OSError, ValueError) as problem:
        options.error(printable(str(problem)))

    if not options.plaintext_login and (warning := how.warning(host, options.config)):
        put(f"kwire: warning: {printable(warning)}", sys.stderr)

    async def run() -> int:
        limits = {"timeout": options.timeout, "max_response": options.max_response}
        async with await connect(host, port, protocol, security=how, **limits) as client:
            return await what(client)

    try:
        return asyncio.run(run())
    except KeyboardInterrupt:
        return INTERRUPTED
    except KwireError as problem:
        if isinstance(problem, _USAGE):
            options.error(printable(str(problem)))
        put(f"kwire: {printable(str(problem))}", sys.stderr)
        return UNDECODABLE if isinstance(problem, DecodeError) else FAILED


def security(options: argparse.Namespace) -> Security:
    """TLS and login by the properties file, and by the options on top of it."""
    from kwire.client import Sasl, Security, SecurityError, read_properties, tls_context

    properties = read_properties(options.config) if options.config else {}
    found = Security.from_properties(properties, options.token_file)
    found = replace(found, plaintext_login=found.plaintext_login or options.plaintext_login)
    if options.tls or options.ca or options.cert:
        secret = os.environ.get("KWIRE_KEY_PASSWORD")
        tls = tls_context(ca=options.ca, certificate=options.cert, key=options.key, key_password=secret)
        found = replace(found, tls=tls)
    if options.mechanism == "OAUTHBEARER":
        token = os.environ.get("KWIRE_TOKEN", "")
        return replace(found, sasl=Sasl(mechanism="OAUTHBEARER", token=token, token_file=options.token_file))
    if options.mechanism:
        password = _password(options) if options.user else ""
        sasl = Sasl(mechanism=options.mechanism, username=options.user or "", password=password)
        return replace(found, sasl=sasl)
    if options.user or options.password_file or (options.token_file and found.sasl is None):
        raise SecurityError("a login needs --mechanism")
    return found


def _password(options: argparse.Namespace) -> str:
    from kwire.client.files import read_small

    if options.password_file:
        return read_small(options.password_file).decode().rstrip("\r\n")
    if "KWIRE_PASSWORD" in os.environ:
        return os.environ["KWIRE_PASSWORD"]
    if not sys.stdin.isatty():
        raise ValueError("the password: name a file with --password-file, or set KWIRE_PASSWORD")
    return getpass(f"password of {printable(options.user)}: ")


def seconds(text: str) -> float:
    """A duration, up to an hour."""
    number = float(text)
    if not 0 < number <= 3600:
        raise ValueError(text)
    return number


def mebibytes(text: str) -> int:
    """A size in bytes. From 320 MiB on, the first bytes of TLS could be a size."""
    number = int(text)
    if not 0 < number <= 300:
        raise ValueError(text)
    return number << 20
