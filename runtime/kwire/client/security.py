"""The TLS and SASL settings of a client, set in Python or in a client properties file [KIP-651, KIP-684]."""

from __future__ import annotations

import re
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import unquote, urlsplit

from kwire.client.errors import SecurityError
from kwire.client.files import read_small
from kwire.client.sasl import IN_CLEAR, MECHANISMS, Sasl

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_CONVERT = (
    "only PEM can be read. Convert it: keytool -importkeystore -srckeystore IN.jks -destkeystore store.p12 "
    "-deststoretype PKCS12, then openssl pkcs12 -in store.p12 -out store.pem"
)
_PAIR = re.compile(r"((?:\\.|[^\\=:\s])*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.?)", re.DOTALL)
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_OPTION = r"""([\w.-]+)\s*=\s*("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^\s;"']+)"""
_JAAS = re.compile(rf"\s*[\w.$]+\s+\w+((?:\s+{_OPTION})*)\s*;\s*", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Security:
    """The security settings of a connection. Without ``tls``, the connection is not encrypted. Without ``sasl``, the
    client does not log in.

    Unless ``plaintext_login`` is set, PLAIN passwords and tokens are only sent to other machines over TLS.
    """

    tls: ssl.SSLContext | None = None
    sasl: Sasl | None = None
    plaintext_login: bool = False

    @classmethod
    def from_properties(cls, properties: Mapping[str, str], token_file: str | Path | None = None) -> Security:
        """Return the settings in the ``security.protocol``, ``sasl.*`` and ``ssl.*`` properties of a Java client.

        Other properties are ignored. OAUTHBEARER requires ``token_file`` or a token endpoint URL with the scheme
        ``file``, because this client does not request tokens. ``SASL_PLAINTEXT`` sets ``plaintext_login``, because it
        requests a login in clear text. Raise ``SecurityError`` for settings that this client does not support, such
        as other mechanisms or key stores that are not PEM.
        """
        protocol = properties.get("security.protocol", "PLAINTEXT").upper()
        if protocol not in PROTOCOLS:
            raise SecurityError(f"security.protocol: expected one of {', '.join(PROTOCOLS)}")
        return cls(
            tls=_tls(properties) if protocol.endswith("SSL") else None,
            sasl=_sasl(properties, token_file) if protocol.startswith("SASL") else None,
            plaintext_login=protocol == "SASL_PLAINTEXT",
        )

    def exposed(self, host: str) -> str:
        """Return the kind of secret (``password`` or ``token``) that a login at this host would expose, or an empty
        string."""
        in_clear = IN_CLEAR.get(self.sasl.mechanism, "") if self.sasl else ""
        return "" if self.tls or _is_loopback(host) else in_clear

    def warning(self, host: str, config: str) -> str:
        """Return a warning if the properties file ``config`` allows a login in clear text at this host. Otherwise
        return ``""``."""
        secret = self.exposed(host)
        text = f"the {secret} is sent to {host} in clear text, as security.protocol in {config} allows"
        return text if secret else ""

    def check(self, host: str) -> None:
        """Raise ``SecurityError`` if a login at this host would send a secret in clear text without permission."""
        if self.sasl and (what := self.exposed(host)) and not self.plaintext_login:
            raise SecurityError(
                f"{self.sasl.mechanism} would send the {what} to {host} in clear text: use TLS or SCRAM, or allow it "
                "with --plaintext-login, or in Python with plaintext_login=True"
            )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower().rstrip(".") == "localhost"


def read_properties(path: str | Path) -> dict[str, str]:
    """Return the settings in a Java properties file, which is encoded in ISO 8859-1 and may contain escapes and
    continued lines."""
    properties, continued = {}, ""
    for line in [*re.split(r"\r\n|\r|\n", read_small(path).decode("latin-1")), ""]:
        line = continued + line.lstrip(" \t\f")
        continued = ""
        if not line or line[0] in "#!":
            continue
        if (len(line) - len(line.rstrip("\\"))) % 2:
            continued = line[:-1]
            continue
        pair = _PAIR.fullmatch(line)
        assert pair is not None  # the pattern matches any line
        properties[_unescaped(pair[1])] = _unescaped(pair[2])
    return properties


def tls_context(
    *,
    ca: str | Path | None = None,
    ca_text: str | None = None,
    certificate: str | Path | None = None,
    key: str | Path | None = None,
    key_password: str | None = None,
    check_hostname: bool = True,
) -> ssl.SSLContext:
    """Return an SSL context for TLS 1.2 and newer with the certificates in PEM files.

    ``ca`` or ``ca_text`` replaces the certificates that the system trusts. ``certificate`` is a file with the
    client's certificate chain, for brokers that request it. The file also contains the private key unless ``key`` is
    set. Raise ``SecurityError`` with the file name if a file cannot be read.
    """
    for path in (ca, certificate, key):
        _check_pem(path)
    ascii_text = ca_text and ca_text.encode("ascii", "replace").decode()  # comments may contain other characters
    try:
        context = ssl.create_default_context(cafile=ca, cadata=ascii_text)
        context.check_hostname = check_hostname
        if certificate is not None:
            context.load_cert_chain(certificate, key, key_password or "")  # with None, OpenSSL would prompt
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError too
        what = f"{key or certificate}: the certificate or its key is missing, or the key password is wrong"
        raise SecurityError(what if certificate is not None else f"no PEM certificates: {error}") from None
    return context


def _check_pem(path: str | Path | None) -> None:
    if path is not None:
        try:
            content = read_small(path)
        except OSError as error:
            raise SecurityError(f"{path} cannot be read: {error.strerror}") from None
        if b"-----BEGIN " not in content:
            raise SecurityError(f"{path}: {_CONVERT}")


def _tls(properties: Mapping[str, str]) -> ssl.SSLContext:
    get = properties.get
    for store in ("ssl.truststore", "ssl.keystore"):
        kind = get(f"{store}.type", "PEM").upper()
        if kind != "PEM":
            raise SecurityError(f"{store}.type is {kind}: {_CONVERT}")
    check_hostname = get("ssl.endpoint.identification.algorithm", "https").lower() == "https"

    def context(certificate: str | Path | None) -> ssl.SSLContext:
        return tls_context(
            ca=get("ssl.truststore.location"),
            ca_text=get("ssl.truststore.certificates"),
            certificate=certificate,
            key_password=get("ssl.key.password"),
            check_hostname=check_hostname,
        )

    if "ssl.keystore.key" not in properties:
        return context(get("ssl.keystore.location"))
    with tempfile.TemporaryDirectory() as folder:  # ssl reads keys only from files. Other users cannot read it.
        file = Path(folder, "key.pem")
        file.write_text(f"{properties['ssl.keystore.key']}\n{get('ssl.keystore.certificate.chain', '')}\n")
        try:
            return context(file)
        except SecurityError as error:
            raise SecurityError(str(error).replace(str(file), "ssl.keystore.key")) from None


def _sasl(properties: Mapping[str, str], token_file: str | Path | None) -> Sasl:
    mechanism = properties.get("sasl.mechanism", "GSSAPI")
    jaas = _jaas(properties.get("sasl.jaas.config", ""))
    if mechanism == "OAUTHBEARER":
        url = urlsplit(properties.get("sasl.oauthbearer.token.endpoint.url", ""))
        token_file = token_file or (unquote(url.path) if url.scheme == "file" else None)
        if not token_file:
            raise SecurityError(
                "OAUTHBEARER: kwire does not request tokens from a server. Save a token to a file and pass its name"
            )
        prefix = "extension_"
        extensions = {name.removeprefix(prefix): text for name, text in jaas.items() if name.startswith(prefix)}
        return Sasl(mechanism=mechanism, token_file=token_file, extensions=extensions)
    if mechanism in MECHANISMS and not {"username", "password"} <= jaas.keys():
        raise SecurityError("sasl.jaas.config must contain a username and a password")
    by_token = jaas.get("tokenauth", "").lower() == "true"
    return Sasl(
        mechanism=mechanism, username=jaas.get("username", ""), password=jaas.get("password", ""), by_token=by_token
    )


def _jaas(text: str) -> dict[str, str]:
    """Return the options in ``sasl.jaas.config``, which has the form ``MODULE required name="value" …;``."""
    found = _JAAS.fullmatch(text)
    if text and found is None:
        raise SecurityError('sasl.jaas.config: expected MODULE required name="value" …;')
    pairs = re.findall(_OPTION, found[1]) if found else []
    return {name: _unescaped(value[1:-1]) if value[0] in "\"'" else value for name, value in pairs}


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: _character(found[1]), text)


def _character(escape: str) -> str:
    return chr(int(escape[1:], 16)) if len(escape) == 5 else _CONTROLS.get(escape, escape)
