"""``kwirec new``: what it lays down works as it is. tests/test_pages_run.py runs the tutorial about it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from syrupy.assertion import SnapshotAssertion

from kwirec.command import main
from kwirec.files import STAGE
from kwirec.scaffold import DEFINITIONS, FILES, TEMPLATES

ROOT = Path(__file__).resolve().parents[2]
TUTORIAL = (ROOT / "docs" / "tutorials" / "own-protocol.md").read_text()


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def kwirec(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments), catch_exceptions=False)


def run(*command: str, cwd: str = "acme", path: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """A command of the user, who has this interpreter, a git that knows who commits, and nothing of this test run."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MAKE", "MFLAGS", "PYTEST_", "BASE"))
    }
    names = {f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    paths = os.pathsep.join([*path, str(ROOT / "compiler"), str(ROOT / "runtime")])
    environment = {**kept, **names, "PYTHONPATH": paths, "GIT_CONFIG_GLOBAL": os.devnull}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def make(*targets: str) -> subprocess.CompletedProcess[str]:
    return run("make", f"PYTHON={sys.executable}", *targets)


@pytest.mark.long
def test_new_templates_pass_their_test() -> None:
    assert kwirec("new", "pages", "--templates").exit_code == 0
    assert sorted(path.name for path in Path("pages").iterdir()) == sorted(TEMPLATES)
    done = run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd="pages")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


@pytest.mark.slow
def test_new_templates_escape_what_definitions_say() -> None:
    assert kwirec("new", "pages", "--templates").exit_code == 0
    field = {"name": "A", "type": "int8", "versions": "0", "about": "*b* | c"}
    order = {"type": "data", "name": "Order", "about": "*One* <i>order</i>.", "validVersions": "0", "fields": [field]}
    Path("Order.json").write_text(json.dumps(order | {"flexibleVersions": "none"}))
    assert kwirec("emit", "pages", "Order.json", "--out", "out", "-q").exit_code == 0
    assert Path("out/messages/order.md").read_text().split("\n\n") == [
        "# Order",
        "&#42;One&#42; &#60;i&#62;order&#60;/i&#62;.",
        "## Order",
        "| field | type | versions | default | description |\n| -- | -- | -- | -- | -- |\n"
        "| A | `int8` | 0 | `0` | &#42;b&#42; &#124; c |\n",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("notation", ["json", pytest.param("krammar", marks=pytest.mark.long)])
def test_from_new_to_a_passing_test(notation: str) -> None:
    assert "kwirec new acme && cd acme\n$ make generate check test\n" in TUTORIAL
    assert kwirec("new", "acme", "--notation", notation).exit_code == 0
    done = make("generate", "check", "test")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "6 passed" in done.stdout
    assert "no findings" in done.stderr


@pytest.mark.parametrize("notation", DEFINITIONS)
def test_what_is_laid_down(notation: str, snapshot: SnapshotAssertion) -> None:
    printed = kwirec("new", "acme_clocks", "clocks", "--notation", notation, "--ci", "github")
    schema = Path("clocks/.vscode/definitions.schema.json")
    if notation == "json":
        assert schema.read_text() == kwirec("schema").output
        schema.write_text("what `kwirec schema` prints\n")
    files = sorted(path for path in Path("clocks").rglob("*") if path.is_file())
    shown = "".join(f"--- {path.as_posix()}\n{path.read_text()}" for path in files)
    assert f"{printed.output}{shown}".replace(f"~={version('kwire')}", "~=VERSION") == snapshot


def test_new_completes_what_a_killed_run_left_and_nothing_else() -> None:
    kwirec("new", "acme")
    whole = {path: path.read_bytes() for path in Path("acme").rglob("*") if path.is_file()}
    Path("acme/README.md").unlink()
    Path("acme", STAGE).mkdir()
    assert kwirec("new", "acme").exit_code == 0
    assert {path: path.read_bytes() for path in Path("acme").rglob("*") if path.is_file()} == whole
    Path("acme/defs/OrderRequest.json").write_text("mine")
    assert kwirec("new", "acme").exit_code == 2
    assert Path("acme/defs/OrderRequest.json").read_text() == "mine"


def test_new_definitions_have_the_layout_of_fmt() -> None:
    for notation in DEFINITIONS:
        kwirec("new", "acme", notation, "--notation", notation)
        assert kwirec("fmt", "--check", f"{notation}/defs").exit_code == 0


def test_both_notations_start_the_same_protocol() -> None:
    for notation in DEFINITIONS:
        kwirec("new", "acme", notation, "--notation", notation)
    printed = [kwirec("dump", f"{notation}/defs").output for notation in DEFINITIONS]
    assert printed[0] == printed[1]
    assert "OrderRequest" in printed[0]


def test_what_is_generated_needs_nothing_but_kwire() -> None:
    kwirec("new", "acme")
    kwirec("generate", "acme/defs", "--package", "acme", "--out", "out")
    code = (
        "import sys; sys.path[:0] = ['out', sys.argv[1]]; before = set(sys.modules)\n"
        "import acme; acme.OrderRequest(article='anvil').encode(1); acme.PROTOCOL.response(1)\n"
        "print(*{name.split('.')[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names))"
    )
    done = run(sys.executable, "-c", code, str(ROOT / "runtime"), cwd=".")
    assert sorted(done.stdout.split()) == ["acme", "kwire", "kwire_rules", "librt"], done.stderr


def test_the_fields_that_the_tutorial_shows_are_those_of_the_template() -> None:
    kwirec("new", "acme")
    shown = re.search(r"```jsonc\n(.*?)```", TUTORIAL, re.DOTALL)
    assert shown is not None
    definition = " ".join(Path("acme/defs/OrderRequest.json").read_text().split())
    for one in shown[1].replace("},\n", "}\0").split("\0"):
        assert " ".join(one.split()) in definition


def test_a_folder_can_be_named_and_names_follow_from_the_name() -> None:
    Path("there/.git/refs").mkdir(parents=True)
    Path("there/.git/HEAD").write_text("ref: refs/heads/main")
    assert kwirec("new", "acme_orders", "there").exit_code == 0
    shutil.rmtree("there/.git")
    found = {path.relative_to("there").as_posix() for path in Path("there").rglob("*") if path.is_file()}
    assert found == {path.format(name="acme_orders") for path in (*FILES, *DEFINITIONS["json"])}
    assert 'name = "acme-orders"' in Path("there/pyproject.toml").read_text()
    assert "from acme_orders import" in Path("there/tests/test_acme_orders.py").read_text()
    assert "{{" not in "".join(Path("there", path).read_text() for path in found)


def test_nothing_is_written_where_something_is() -> None:
    Path("acme").mkdir()
    Path("acme/mine.txt").write_text("mine")
    result = kwirec("new", "acme")
    assert result.exit_code == 2
    assert result.stderr.endswith("Error: acme exists and is not empty: it contains mine.txt\n")
    assert [path.name for path in Path("acme").iterdir()] == ["mine.txt"]
    assert kwirec("new", "other", "acme/mine.txt").exit_code == 2


@pytest.mark.parametrize("name", ["class", "kwire", "json", "no-name", "_acme", "ärger", "../acme"])
def test_a_protocol_cannot_have_every_name(name: str) -> None:
    assert kwirec("new", name).exit_code == 2
    assert not list(Path().iterdir())


@pytest.mark.parametrize("target", ["elsewhere", "elsewhere/Makefile", "nowhere"])
def test_nothing_is_written_beside_a_link(target: str) -> None:
    """What a killed run leaves has no links."""
    kwirec("new", "acme", "elsewhere")
    Path("acme").mkdir()
    Path("acme", "Makefile" if target.endswith("Makefile") else "defs").symlink_to(Path(target).absolute())
    assert kwirec("new", "acme").exit_code == 2
    assert len(list(Path("acme").iterdir())) == 1
