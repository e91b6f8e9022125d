"""Settings of TLS and SASL in the properties file of a client."""

from __future__ import annotations

import re
import ssl
from pathlib import Path

import pytest

from kwire.client import Sasl, Security, SecurityError, read_properties, tls_context
from kwire.client.files import read_small
from tests.support.certificates import KEY_PASSWORD, Certificates

SCRAM = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="alice" password="s;e\\"c=ret";'
LOGIN = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": SCRAM}


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


def test_a_properties_file_is_read_as_java_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_bytes(
        b"# a comment that ends in a backslash \\\n"
        b"! another\r\n"
        b"  security.protocol = SASL_SSL\r"
        b"\n"
        b"sasl.jaas.config=Module required \\\n"
        b'    username="alice" \\\n'
        b'\tpassword="a\\\\b";\n'
        b"with\\ blank\\=:  value with blanks \n"
        b"escapes a\\tb\\u00e9\\\xe9\n"
        b"others\\f\\u0020=\\n\\r\\f\\z\\u00E9\\u12\n"
        b"\f\t spaced \t\f:\f \tout\n"
        b"\n"
        b"#=no\n"
        b"twice=1\n"
        b"twice:2=3\n"
        b"alone\n"
        b"one=1\rtwo=2\n"
        b"ends in two backslashes\\\\\\\\\n"
        b"last=continued\\"
    )
    assert read_properties(file) == {
        "security.protocol": "SASL_SSL",
        "sasl.jaas.config": 'Module required username="alice" password="a\\b";',
        "with blank=": "value with blanks ",
        "escapes": "a\tbéé",
        "others\f ": "\n\r\fzéu12",
        "spaced": "out",
        "twice": "2=3",
        "alone": "",
        "one": "1",
        "two": "2",
        "ends": "in two backslashes\\\\",
        "last": "continued",
    }


def test_without_settings_there_is_neither_tls_nor_a_login() -> None:
    assert Security.from_properties({"bootstrap.servers": "b:9092", "sasl.mechanism": "GSSAPI"}) == Security()


def test_a_login_with_a_password() -> None:
    found = Security.from_properties(LOGIN)
    login = Sasl(mechanism="SCRAM-SHA-512", username="alice", password='s;e"c=ret')
    assert found == Security(sasl=login, plaintext_login=True)
    by_tls = Security.from_properties(LOGIN | {"security.protocol": "SASL_SSL"})
    assert (by_tls.sasl, by_tls.plaintext_login, by_tls.tls is None) == (login, False, False)
    by_token = LOGIN | {
        "sasl.jaas.config": "x.ScramLoginModule required username=id password='h\\'m' tokenauth=TRUE ;"
    }
    sasl = Security.from_properties(by_token).sasl
    assert sasl is not None
    assert (sasl.username, sasl.password, sasl.by_token) == ("id", "h'm", True)
    no_token = by_token["sasl.jaas.config"].replace("TRUE", "false")
    sasl = Security.from_properties(by_token | {"sasl.jaas.config": no_token}).sasl
    assert sasl is not None
    assert not sasl.by_token


def test_a_login_with_a_token() -> None:
    settings = LOGIN | {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": "file:///run/my%20token",
        "sasl.jaas.config": "x.OAuthBearerLoginModule required extension_logicalCluster='c1' scope=s;",
    }
    sasl = Security.from_properties(settings).sasl
    assert sasl is not None
    assert (sasl.token_file, sasl.extensions) == ("/run/my token", {"logicalCluster": "c1"})
    named = Security.from_properties(settings, "other").sasl
    assert named is not None
    assert named.token_file == "other"
    with pytest.raises(SecurityError, match="kwire does not request tokens from a server"):
        Security.from_properties(settings | {"sasl.oauthbearer.token.endpoint.url": "https://idp.example/token"})


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"security.protocol": "TLS"}, "security.protocol: expected one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        ({"security.protocol": "SASL_PLAINTEXT"}, "SASL mechanism 'GSSAPI': expected one of PLAIN, SCRAM-SHA-256, "),
        ({**LOGIN, "sasl.jaas.config": ""}, "sasl.jaas.config must contain a username and a password"),
        ({**LOGIN, "sasl.jaas.config": "x required username=a password=;"}, 'expected MODULE required name="value"'),
        ({**LOGIN, "sasl.jaas.config": SCRAM * 2}, 'expected MODULE required name="value"'),
        ({**LOGIN, "sasl.jaas.config": "x required username='' password='';"}, "requires a user name and a password"),
        (
            {"security.protocol": "ssl", "ssl.truststore.type": "JKS"},
            "ssl.truststore.type is JKS: only PEM .* keytool",
        ),
        ({"security.protocol": "SSL", "ssl.keystore.type": "PKCS12"}, "ssl.keystore.type is PKCS12: only PEM"),
        ({"security.protocol": "SSL", "ssl.truststore.location": "/no/ca.pem"}, "/no/ca.pem cannot be read: No such"),
        ({"security.protocol": "SSL", "ssl.truststore.certificates": "nothing"}, "no PEM certificates"),
        ({"security.protocol": "SSL", "ssl.truststore.certificates": "n\u00f6"}, "no PEM certificates"),
    ],
)
def test_settings_that_are_refused(settings: dict[str, str], reason: str) -> None:
    with pytest.raises(SecurityError, match=reason) as caught:
        Security.from_properties(settings)
    assert "c=ret" not in str(caught.value)  # of the password


def test_a_store_of_java_is_refused_by_its_content(tmp_path: Path) -> None:
    store = tmp_path / "trust.jks"
    store.write_bytes(b"\xfe\xed\xfe\xed\0\0\0\2")
    with pytest.raises(SecurityError, match=rf"^{re.escape(str(store))}: only PEM can be read. Convert it: keytool"):
        Security.from_properties({"security.protocol": "SSL", "ssl.truststore.location": str(store)})


def test_a_key_that_is_not_pem_is_named(certificates: Certificates, tmp_path: Path) -> None:
    key = tmp_path / "client.key"
    key.write_bytes(b"\x30\x82")
    with pytest.raises(SecurityError, match=rf"^{re.escape(str(key))}: only PEM can be read"):
        tls_context(certificate=certificates.client, key=key)


def test_files_have_a_limit(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"1234")
    assert read_small(file, 4) == b"1234"
    with pytest.raises(OSError, match="more than 0 MiB"):
        read_small(file, 3)


def test_certificates_in_files_and_in_the_properties(certificates: Certificates) -> None:
    files = {
        "security.protocol": "SSL",
        "ssl.truststore.type": "pem",
        "ssl.endpoint.identification.algorithm": "HTTPS",
        "ssl.truststore.location": str(certificates.ca),
        "ssl.keystore.location": str(certificates.client),
    }
    key, _, chain = certificates.client.read_text().partition("-----BEGIN CERTIFICATE")
    texts = {
        "security.protocol": "SSL",
        "ssl.truststore.certificates": f"# T\u00dcB\u0130TAK\n{certificates.ca.read_text()}",
        "ssl.keystore.key": certificates.encrypted_key.read_text(),
        "ssl.keystore.certificate.chain": f"-----BEGIN CERTIFICATE{chain}",
        "ssl.key.password": KEY_PASSWORD,
        "ssl.endpoint.identification.algorithm": "",
    }
    for settings, checks in ((files, True), (texts, False)):
        context = Security.from_properties(settings).tls
        assert context is not None
        assert context.check_hostname is checks
        assert context.verify_mode is ssl.CERT_REQUIRED
        assert len(context.get_ca_certs()) == 1
    for wrong in ({"ssl.key.password": "wrong"}, {"ssl.keystore.key": key}, {"ssl.keystore.key": "x"}):
        with pytest.raises(SecurityError, match=r"^ssl\.keystore\.key: (the certificate or its key is |only PEM)"):
            Security.from_properties(texts | wrong | {"ssl.keystore.certificate.chain": ""})


def test_a_key_with_a_password_is_not_asked_for_at_the_terminal(certificates: Certificates) -> None:
    wrong = "the certificate or its key is missing, or the key password is wrong"
    for certificate, key in ((certificates.client, certificates.encrypted_key), (certificates.ca, None)):
        with pytest.raises(SecurityError, match=rf"^{re.escape(str(key or certificate))}: {wrong}$"):
            tls_context(certificate=certificate, key=key)
    with pytest.raises(SecurityError, match="key password is wrong"):
        tls_context(certificate=certificates.client, key=certificates.encrypted_key, key_password="x" * 1025)
    tls_context(certificate=certificates.client, key=certificates.encrypted_key, key_password=KEY_PASSWORD)
