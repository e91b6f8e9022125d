"""SaslHandshake and SaslAuthenticate."""

from __future__ import annotations

from kwire_kafka import SaslAuthenticateRequest, SaslAuthenticateResponse, SaslHandshakeRequest, SaslHandshakeResponse
from kwire_testing.call import Call, answers
from kwire_testing.login import MECHANISMS
from kwire_testing.refusal import Refused


@answers(SaslHandshakeRequest)
def sasl_handshake(call: Call, request: SaslHandshakeRequest) -> SaslHandshakeResponse:
    """Begin a login. After version 0 its tokens come without a header."""
    mechanisms = list(MECHANISMS)
    try:
        call.check()
        call.login.begin(request.mechanism)
    except Refused as refusal:
        return SaslHandshakeResponse(error_code=refusal.error, mechanisms=mechanisms)
    return SaslHandshakeResponse(mechanisms=mechanisms)


@answers(SaslAuthenticateRequest)
def sasl_authenticate(call: Call, request: SaslAuthenticateRequest) -> SaslAuthenticateResponse:
    """Answer a token of a login."""
    try:
        call.check()
        return SaslAuthenticateResponse(auth_bytes=call.login.answer(request.auth_bytes))
    except Refused as refusal:
        return SaslAuthenticateResponse(error_code=refusal.error, error_message="Authentication failed")
