"""Options and error handling of commands that call a broker."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import reduce
from getpass import getpass
from typing import TYPE_CHECKING

import click

from kwire.command.options import Function, Options, number_option, put
from kwire.errors import DecodeError, EncodeError, KwireError, UnknownNameError
from kwire.json_form import JsonFormError
from kwire_rules import printable

if TYPE_CHECKING:
    from kwire.client import Client, Security
    from kwire.protocol import MessageRegistry

MAX_RESPONSE = 2 << 20
"""Default maximum response size in bytes. Printing a response as JSON may use 200 times its size in memory."""
UNDECODABLE, FAILED, INTERRUPTED = 1, 3, 130
EXIT_CODES = """
exit codes: 0 success, 1 the answer cannot be decoded, 2 usage error,
            3 the broker is unreachable, does not speak Kafka or TLS, or refuses the login or the request
"""

_USAGE = (EncodeError, JsonFormError, UnknownNameError, ValueError)  # a SecurityError is a ValueError


_OPTIONS = (
    click.argument("address"),
    click.option("--config", metavar="FILE", help="Client properties file: security.protocol, sasl.*, ssl.*"),
    click.option("--tls", is_flag=True, help="Use TLS.  [default: plain text]"),
    click.option("--ca", metavar="FILE", help="Trusted certificates in PEM format.  [default: the system's]"),
    click.option(
        "--cert", metavar="FILE", help="Client certificate in PEM format, with its private key unless --key is used."
    ),
    click.option(
        "--key", metavar="FILE", help="Private key of the certificate. KWIRE_KEY_PASSWORD decrypts the key."
    ),
    click.option(
        "--mechanism",
        metavar="NAME",
        help="Log in with PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER.  [default: no login]",
    ),
    click.option("--user", metavar="NAME", help="User name."),
    click.option(
        "--password-file",
        metavar="FILE",
        help="File with the password.  [default: KWIRE_PASSWORD, or a prompt]",
    ),
    click.option("--token-file", metavar="FILE", help="File with an OAUTHBEARER token.  [default: KWIRE_TOKEN]"),
    click.option(
        "--plaintext-login", is_flag=True, help="Allow PLAIN and OAUTHBEARER logins to other machines without TLS."
    ),
    number_option("--timeout", "SECONDS", 10, 3600, float, "Time limit for connecting and for each call."),
    number_option(
        "--max-response", "MIB", MAX_RESPONSE >> 20, 300, int, "Maximum size of a response, at most 300.", 1 << 20
    ),
)
"""The broker's address, and options for the connection and login.

``--max-response`` stays below 320 MiB, so that the start of a TLS record is never a valid frame size.
"""


def connecting(function: Function) -> Function:
    """Return the command with the argument ADDRESS and the connection options added."""
    return reduce(lambda command, option: option(command), reversed(_OPTIONS), function)


def talk(options: Options, protocol: MessageRegistry, what: Callable[[Client], Awaitable[int]]) -> int:
    """Call ``what`` with a connected client, and return the exit code. If the call fails, print an error line."""
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


def security(options: Options) -> Security:
    """Return the TLS and login settings from the properties file, overridden by the options."""
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
        raise SecurityError("a login requires --mechanism")
    return found


def _password(options: Options) -> str:
    from kwire.client.files import read_small

    if options.password_file:
        return read_small(options.password_file).decode().rstrip("\r\n")
    if "KWIRE_PASSWORD" in os.environ:
        return os.environ["KWIRE_PASSWORD"]
    if not sys.stdin.isatty():
        raise ValueError("the login requires a password: use --password-file or set KWIRE_PASSWORD")
    return getpass(f"password for {printable(options.user)}: ")
