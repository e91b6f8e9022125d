"""Whose clients they are: the list of owners, and mistakes in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kwire_inspect.options import OptionError
from kwire_inspect.reports.client_usage import Client, Use
from kwire_inspect.reports.owners import Owners

LIST = """\ufeffowner,client_id,address,principal
Billing,billing-*,,
"Payments, EU",,10.1.0.0/16,User:pay*
Platform,,10.0.0.0/8,
Six,,2001:db8::/32,
Literal,a[1],,
Everyone else,,,
"""


def owners(tmp_path: Path, text: str = LIST) -> Owners:
    path = tmp_path / "owners.csv"
    path.write_text(text, "utf-8")
    return Owners.read(path)


def client(name: str | None = None, host: str | None = None, principal: str | None = None) -> Client:
    return Client(name, host, None, principal)


def test_the_first_line_that_fits_counts(tmp_path: Path) -> None:
    found = owners(tmp_path)
    assert found.of(client("billing-7", "10.1.2.3", "User:pay")) == "Billing"
    assert found.of(client("x", "10.1.2.3", "User:payroll")) == "Payments, EU"
    assert found.of(client("x", "10.1.2.3", "User:other")) == "Platform"
    assert found.of(client("x", "2001:db8::1")) == "Six"
    assert found.of(client("a[1]", "10.1.2.3")) == "Platform"
    assert found.of(client("a[1]")) == "Literal"
    assert found.of(client("a1")) == "Everyone else"
    assert found.of(client("x", "no address")) == found.of(client()) == "Everyone else"


def test_nobody_owns_what_no_line_fits(tmp_path: Path) -> None:
    assert owners(tmp_path, "owner,software\nA,librdkafka *\n").of(client("a")) is None
    assert owners(tmp_path, "owner,address\nA,0.0.0.0/0\n").of(client("a")) is None, "its address is unknown"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("team,client_id\nA,b\n", "the first line must name the columns: `owner` and any of `client_id`, `address`"),
        ("owner,owner\nA,b\n", "the first line must name the columns"),
        ("", "the first line must name the columns"),
        ("owner,client_id\nA\n", "line 2 has 1 cells instead of 2"),
        ("owner,client_id\n,x\n", "line 2 has no owner"),
        ("owner,address\nA,10.0.0.0/99\n", "line 2: '10.0.0.0/99' does not appear to be an IPv4 or IPv6 network"),
        ('owner\n"A\n', "unexpected end of data"),
    ],
)
def test_a_mistake_is_one_line_that_names_the_place(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(OptionError) as caught:
        owners(tmp_path, text)
    assert told in str(caught.value)
    assert "owners.csv" in str(caught.value)


def test_a_list_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwire_inspect.reports.owners.MAX_FILE", 20)
    assert owners(tmp_path, "owner,client_id\nA,b\n").of(client("b")) == "A"
    with pytest.raises(OptionError, match=r"owners .*owners.csv: the file is larger than 0 MB"):
        owners(tmp_path, "owner,client_id\nA,bc\n")


def test_cells_may_have_space_and_lines_may_be_empty(tmp_path: Path) -> None:
    assert owners(tmp_path, "Owner , CLIENT_ID\n\n , \n A , b/c \n").of(client("b/c")) == "A"
    assert owners(tmp_path, "owner,address\nA,10.0.0.9/24\nB,host-*\n").of(client("x", "10.0.0.1")) == "A"
    assert owners(tmp_path, "owner,address\nB,host-*\n").of(client("x", "host-1")) == "B"


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(OptionError, match=r"owners .*binary: .*utf-8"):
        Owners.read(tmp_path / "binary")
    with pytest.raises(OptionError, match="No such file"):
        Owners.read(tmp_path / "missing")
    with pytest.raises(OptionError, match="not a regular file"):
        Owners.read(tmp_path)


@pytest.mark.parametrize(
    ("text", "owner"),
    [
        ("owner,client_id,address\nA,a,10.0.0.1\n", None),  # all cells of a line have to match
        ("owner,client_id,address\nA,a,10.0.0.2\n", "A"),
        ("owner,client_id,address\nA,b,10.0.0.2\nB,,10.*\n", "B"),
        ("owner,client_id\nA,a?\n", None),
        ("owner,client_id\nA,?\n", "A"),
        ("owner,client_id\nA,[a]\n", None),
        ("owner,client_id\nA,A\n", None),
        ("owner,software\nA,*\n", None),  # it has none
        ("owner,principal\nA,User:*\nB,*\n", "A"),
        ("owner,principal\nA,user\nB,User:x\n", "B"),
        ("owner,address\nA,10.0.0.0/31\nB,10.0.0.2/31\n", "B"),
        ("owner,address\nA,::/0\n", None),
        ("owner,address\nA,10.0.0.?\n", "A"),
        (" ADDRESS ,Owner\n 10.0.0.2 , A b \n", "A b"),
        ("owner\nA\nB\n", "A"),
        ("owner,client_id\n,\n \nA,a\n", "A"),
    ],
)
def test_which_line_fits(tmp_path: Path, text: str, owner: str | None) -> None:
    found = owners(tmp_path, text)
    a, nobody = client("a", "10.0.0.2", "User:x"), client("zzz", "host", None)
    assert found.of(a) == owner
    uses = [Use(one, 0, "Produce", 1) for one in (a, nobody, a)]
    everyone = found.of(nobody)
    assert [use.client.owner for use in found.named(iter(uses))] == [owner, everyone, owner]
    assert [use.client._replace(owner=None) for use in found.named(uses)] == [a, nobody, a]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("owner,client_id,client_id\nA,a,b\n", "the first line must name the columns: `owner` and any of "
         "`client_id`, `address`, `software`, `principal`"),
        ("client_id\na\n", "the first line must name the columns"),
        ("owner,client_id\nA,a,b\n", "line 2 has 3 cells instead of 2"),
        ("owner,client_id\nA,a\n\n , x\n", "line 4 has no owner"),
        ("owner,address\nA,10.0.0.0/8\nB,x/8\n", "line 3: 'x/8' does not appear to be an IPv4 or IPv6 network"),
        ('owner,client_id\nA,"a"b\n', "',' expected after '\"'"),
    ],
)  # fmt: skip
def test_the_whole_line_on_a_mistake(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(OptionError) as caught:
        owners(tmp_path, text)
    assert str(caught.value).startswith(f"owners {tmp_path / 'owners.csv'}: {told}")
