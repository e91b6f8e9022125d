"""SaslHandshake and SaslAuthenticate."""

from __future__ import annotations

from kwire_kafka import SaslAuthenticateRequest, SaslAuthenticateResponse, SaslHandshakeRequest, SaslHandshakeResponse
from kwire_testing.call import Call, answers
from kwire_testing.login import MECHANISMS


@answers(SaslHandshakeRequest, SaslHandshakeResponse)
def sasl_handshake(call: Call, request: SaslHandshakeRequest, response: SaslHandshakeResponse) -> None:
    """Begin a login. After version 0 its tokens come without a header."""
    response.mechanisms = [*MECHANISMS]
    call.check()
    call.login.begin(request.mechanism)


@answers(SaslAuthenticateRequest, SaslAuthenticateResponse)
def sasl_authenticate(call: Call, request: SaslAuthenticateRequest, response: SaslAuthenticateResponse) -> None:
    """Answer a token of a login."""
    call.check()
    response.auth_bytes = call.login.answer(request.auth_bytes)
