"""Client errors, and explanations of failed connections that help users fix them."""

from __future__ import annotations

import socket
import ssl

from kwire.connection.detect import sniff_protocol
from kwire.errors import DecodeError, KwireError

MAX_RESPONSE = 300 << 20
"""Upper bound for the maximum size of a response, in bytes. The first bytes of TLS look like a size of at least 320
MiB."""


class BrokerError(KwireError):
    """The broker cannot be reached, does not answer, or does not speak the Kafka protocol as expected. The connection
    is closed."""


class AuthenticationError(BrokerError):
    """The broker rejects the login, or cannot prove that it knows the password."""


class SecurityError(KwireError, ValueError):
    """A TLS or SASL setting is invalid or not supported by this client."""


def reason(error: BaseException, *, tls: bool, seconds: float) -> str:
    """Return the reason for a failed connection, without the address. ``tls`` says whether the client used TLS."""
    match error:
        case DecodeError(message_name="frame"):
            return other_protocol(error.data) or _size(error)
        case DecodeError():
            return f"does not speak Kafka: {error}"
        case socket.gaierror():
            return f"unknown host ({error.strerror})"
        case UnicodeError():
            return "not a valid host name"
        case ssl.SSLCertVerificationError():
            return f"its certificate is not trusted: {error.verify_message}"
        case ssl.SSLError() if "ALERT" in (error.reason or ""):
            return f"refuses the TLS connection: {error.reason}"
        case ConnectionRefusedError():
            return "connection refused: nothing listens on this port"
        case TimeoutError():
            return f"no answer within {seconds:g} s"
        case ssl.SSLError() | ConnectionError() if tls:
            return "does not speak TLS: is this a plaintext port?"
        case ConnectionError():
            return "closed the connection"
        case OSError():
            return error.strerror or str(error)
    return str(error)


def _size(error: DecodeError) -> str:
    """Return the reason for rejecting a frame. Either the response is too large for the client, or its size is
    invalid."""
    if 0 < int.from_bytes(error.data[:4], "big", signed=True) <= MAX_RESPONSE:
        return f"answers with {error.reason}: raise --max-response, or in Python max_response"
    return f"does not speak Kafka: {error.reason}"


def other_protocol(data: bytes) -> str:
    """Return advice about a server whose first bytes are ``data``, or an empty string if the server may speak
    Kafka."""
    match sniff_protocol(data) if data else None:
        case "TLS":
            how = "use --tls, security.protocol=SSL or SASL_SSL, or in Python Security(tls=tls_context())"
            return f"this port speaks TLS: {how}"
        case "HTTP":
            return "an HTTP server, not a Kafka broker"
    return ""
