"""What holds for the project as a whole: import chains, public names, a page for every code."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import FrameType

import pyarrow as pa
import pytest

import kwire
from kwire_inspect.options import Options
from kwire_inspect.readers.capture import CaptureReader
from kwire_inspect.schemas import COUNTED, EXCHANGES
from kwire_inspect.tables.clients import EXCHANGE_COLUMNS, clients, counted
from kwire_inspect.tables.database import Database
from kwire_kafka import PROTOCOL, ApiVersionsRequest
from kwirec import catalogue
from kwirec.diagnostics.diagnostic import Report
from kwirec.driver import load
from kwirec.emitters.codecs import emit_module
from kwirec.emitters.modules import group_modules
from kwirec.emitters.write import write
from kwirec.lowering import lower

ROOT = Path(__file__).parent.parent
LAYERS = (
    ("versions", "naming", "diagnostics", "files", "json_text", "markdown"),
    ("frontend",),
    ("ir",),
    ("validation", "lowering"),
    ("guide", "merge", "emitters", "dump", "json_schema", "catalogue", "config", "native", "native_ops", "diff"),
    ("view",),
    ("convert", "fixing", "formatting", "driver", "terminal", "scaffold"),
    ("outputs",),
    ("command",),
)
"""Packages of the compiler from left to right: imports point left, or stay within a column."""

RUNTIME_LAYERS = (
    ("secrets",),
    ("arrays", "errors", "policy", "uuids"),
    ("frames", "lookup", "primitives", "request_log", "schema"),
    ("compression", "enums", "native", "redaction"),
    ("struct", "wire"),
    ("interpreter", "json_form", "records"),
    ("columns", "message"),
    ("arrow", "headers", "logs", "models"),
    ("guide", "protocol", "trace"),
    ("connection", "releases"),
    ("client",),
    ("command",),
)
"""Parts of ``kwire`` from left to right: imports point left, those within functions too. ``Struct`` is to the left of
the interpreter and of the JSON form, ``Message`` to the right. It imports them when it needs them: they import
``typing``. They know it by annotation only."""

GENERATED_LAYERS = (
    (
        "api",
        "api_keys",
        "coordinator",
        "data",
        "entity_types",
        "enums",
        "errors",
        "headers",
        "index",
        "metadata",
        "record_types",
        "releases",
    ),
    ("arrow", "compat", "models"),
)

INSPECT_LAYERS = (
    ("reasons", "storage"),
    ("capture", "options", "schemas"),
    ("stored", "tls"),
    ("inputs", "rows", "state"),
    ("tables",),
    ("connections", "reports", "segments"),
    ("live", "text_logs"),
    ("readers",),
    ("command",),
)

GUIDE_LAYERS = (
    (
        "api_errors",
        "synonyms",
        "assets",
        "classes",
        "fields",
        "kips",
        "releases",
        "remarks",
        "rows",
        "synthetic_examples",
        "types",
    ),
    ("changes", "examples", "former", "grammar", "rendering"),
    ("drawings", "messages", "reasons"),
    ("prose",),
    ("chapters", "documents", "pages"),
    ("inputs", "kip_pages", "nav", "release_pages", "tables"),
    ("doc_pages", "search"),
    ("site",),
    ("command",),
)

SPARK_LAYERS = (
    ("packets", "types"),
    ("sources",),
    ("session",),
    ("output", "reading", "relations", "typed", "writing"),
    ("streams",),
    ("command",),
    ("engine",),
)

TESTING_LAYERS = (
    ("clock", "refusal", "running"),
    ("control", "groups", "log", "login", "sessions"),
    ("transactions",),
    ("cluster",),
    ("call",),
    ("versions",),
    ("apis",),
    ("connection",),
    ("broker", "proxy"),
    ("command", "plugin"),
)

PACKAGES = {
    "runtime/kwire_rules": ("kwire_rules", (("commands", "guide", "lazy", "markdown"),), set()),
    "compiler/kwirec": ("kwirec", LAYERS, {"kwire_rules"}),
    "runtime/kwire": ("kwire", RUNTIME_LAYERS, {"kwire_rules"}),
    "generated/kwire_kafka": ("kwire_kafka", GENERATED_LAYERS, {"kwire"}),
    "guide/kwire_guide": ("kwire_guide", GUIDE_LAYERS, {"kwire", "kwire_rules", "kwirec"}),
    "inspect/kwire_inspect": ("kwire_inspect", INSPECT_LAYERS, {"kwire", "kwire_kafka", "kwire_rules"}),
    "spark/kwire_spark": ("kwire_spark", SPARK_LAYERS, {"kwire", "kwire_kafka", "kwire_inspect", "kwire_rules"}),
    "testing/kwire_testing": ("kwire_testing", TESTING_LAYERS, {"kwire", "kwire_kafka", "kwire_rules"}),
}
"""The packages, their layers, and which other packages they import."""


@cache
def imported(path: Path, annotations: bool = True) -> frozenset[str]:
    """What ``path`` imports, in functions too; with or without what only annotations need."""
    found: set[str] = set()
    if not annotations and "TYPE_CHECKING" not in path.read_text():
        return imported(path)
    nodes: list[ast.AST] = [ast.parse(path.read_text())]
    while nodes:
        match node := nodes.pop():
            case ast.Import():
                found |= {alias.name for alias in node.names}
            case ast.ImportFrom(module=str(module)):
                found |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
            case ast.If(test=ast.Name("TYPE_CHECKING"), orelse=rest) if not annotations:
                nodes += rest
            case ast.stmt() | ast.mod() | ast.excepthandler() | ast.match_case():
                nodes += ast.iter_child_nodes(node)  # an expression imports nothing
    return frozenset(found)


def modules(folder: str) -> list[Path]:
    found = sorted((ROOT / folder).rglob("*.py"))
    assert found
    return found


def files_of(heading: str) -> list[str]:
    """The files that a walk in ARCHITECTURE.md names, in its order."""
    _, _, section = (ROOT / "ARCHITECTURE.md").read_text().partition(f"\n### {heading}\n")
    rows = re.findall(r"^(?:\d+\.|  ) .*", re.split(r"\n##", section)[0], re.MULTILINE)
    places = {name: folder for folder, (name, _, _) in PACKAGES.items()}
    named = re.findall(r"`(\w+)/((?:\w+/)*)\{?([\w,]+)\}?\.(py|jinja)`", "\n".join(rows))
    return [
        f"{places.get(top, top)}/{below}{name}.{end}" for top, below, group, end in named for name in group.split(",")
    ]


def visited(call: Callable[[], object]) -> set[str]:
    """The files of this project with a function that ``call`` calls."""
    found: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_flags & CO_OPTIMIZED:  # neither a module nor the body of a class
            found.add(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return {path.removeprefix(f"{ROOT}{os.sep}").replace(os.sep, "/") for path in found}


def packets_to_rows(_: Path) -> Callable[[], object]:
    options = {"path": str(CAPTURE), "rows": "exchanges", "bodies": "codes", "partitions": "1"}
    reader = CaptureReader(Options(options), pa.schema([EXCHANGES.field(name) for name in EXCHANGE_COLUMNS]))
    [task] = reader.tasks()

    def walk() -> None:
        table = Database().table(COUNTED).add(counted(reader.read(task)))
        assert list(clients(table).table.rows())

    return walk


def frame_to_object(_: Path) -> Callable[[], object]:
    frame = PROTOCOL.encode_request(ApiVersionsRequest(client_software_name="a"), 3, correlation_id=1)
    return lambda: PROTOCOL.decode_request(frame)


def definition_to_codec(folder: Path) -> Callable[[], object]:
    definitions = [*(ROOT / "message_defs" / "kafka").rglob("Fetch[RQ]*.json")]
    assert [path.name for path in sorted(definitions)] == ["FetchRequest.json", "FetchResponse.json"]

    def walk() -> None:
        report = Report()
        loaded = load(definitions, report)
        halves = lower(loaded.schema).halves
        artifacts = [emit_module(group, halves) for group in group_modules(loaded.schema)]
        write(artifacts, folder, origin={})

    return walk


CAPTURE = ROOT / "tests" / "data" / "metrics" / "traffic.pcap.gz"
WALKS: dict[str, tuple[Callable[[Path], Callable[[], object]], tuple[str, ...]]] = {
    "Packet → row": (packets_to_rows, ("inspect/", "runtime/kwire/connection/")),
    "Frame → object": (frame_to_object, ("runtime/", "generated/")),
    "Definition → codec": (definition_to_codec, ("compiler/", "templates/")),
}
"""What is profiled, and the folders of the files that count."""


@pytest.mark.parametrize("folder", PACKAGES)
def test_packages_import_those_below_them_alone(folder: str) -> None:
    """The compiler and the runtime meet in the guide alone, and Spark is at the end of its chain."""
    _, _, others = PACKAGES[folder]
    refused = {name for name, _, _ in PACKAGES.values()} - others - {PACKAGES[folder][0]}
    refused |= set() if "kwire_inspect" in others else {"pandas", "pyspark", "py4j"}
    for path in modules(folder):
        wrong = [name for name in imported(path) if name.split(".")[0] in refused]
        assert not wrong, f"{path.relative_to(ROOT)} imports {wrong}"


def test_pydantic_is_for_models_alone() -> None:
    """It is an extra: nothing imports it, or the models, but the models."""
    for path in [*modules("runtime/kwire"), *modules("generated/kwire_kafka"), *modules("compiler/kwirec")]:
        if "models" not in path.relative_to(ROOT).parts:
            wrong = [name for name in imported(path) if re.match(r"pydantic|kwire(_kafka)?\.models", name)]
            assert not wrong, f"{path.relative_to(ROOT)} imports {wrong}"


def test_pyarrow_is_for_columns_alone() -> None:
    """As pydantic is for models; what reads captures and logs is above them and may."""
    for path in [*modules("runtime/kwire"), *modules("generated/kwire_kafka"), *modules("compiler/kwirec")]:
        if "arrow" not in path.relative_to(ROOT).with_suffix("").parts:
            wrong = [name for name in imported(path) if re.match(r"pyarrow|numpy|kwire(_kafka)?\.arrow", name)]
            assert not wrong, f"{path.relative_to(ROOT)} imports {wrong}"


def test_imports_of_the_compiler_point_left() -> None:
    place = {name: index for index, names in enumerate(LAYERS) for name in names}
    for path in modules("compiler/kwirec"):
        own = path.relative_to(ROOT / "compiler/kwirec").with_suffix("").parts[0]
        if own in ("__init__", "__main__"):
            continue
        assert own in place, f"{own} has no place in the layers"
        for name in imported(path):
            parts = name.split(".")
            if parts[0] == "kwirec" and len(parts) > 1 and parts[1] in place and parts[1] != own:
                assert place[parts[1]] <= place[own], f"{path.relative_to(ROOT)} imports {name}"


@pytest.mark.parametrize("folder", [folder for folder in PACKAGES if folder != "compiler/kwirec"])
def test_imports_at_run_time_point_left(folder: str) -> None:
    """Strictly, so that there is no circle."""
    package, layers, _ = PACKAGES[folder]
    place = {name: index for index, names in enumerate(layers) for name in names}
    for path in modules(folder):
        own = path.relative_to(ROOT / folder).with_suffix("").parts[0]
        if own in ("__init__", "__main__"):
            continue
        assert own in place, f"{own} has no place in the layers"
        for name in imported(path, annotations=False):
            top, _, rest = name.partition(".")
            other = rest.partition(".")[0]
            if top == package and other in place and other != own:
                assert place[other] < place[own], f"{path.relative_to(ROOT)} imports {name}"


def test_every_walk_names_files_that_exist() -> None:
    assert {heading for heading in WALKS if files_of(heading)} == {*WALKS}
    for path in {path for heading in WALKS for path in files_of(heading)}:
        assert (ROOT / path).is_file(), path


@pytest.mark.skipif(kwire.is_native(), reason="native functions are called without a frame")
@pytest.mark.parametrize("heading", WALKS)
def test_walks_name_every_file_on_the_way(heading: str, tmp_path: Path) -> None:
    """Those whose functions are called the second time, when all is imported and what is kept is kept."""
    prepare, folders = WALKS[heading]
    walk = prepare(tmp_path)
    walk()
    found = {path for path in visited(walk) if path.startswith(folders)}
    assert found == {*files_of(heading)}


def test_a_packet_passes_few_files() -> None:
    assert len(files_of("Packet → row")) <= 25


@pytest.mark.skipif(kwire.is_native(), reason="native modules come with one for each library")
def test_what_a_codec_imports_is_little() -> None:
    """Importing one API loads its module, the runtime and nothing that takes long."""
    code = "import sys; import kwire_kafka; kwire_kafka.FetchResponse; print(*sys.modules)"
    loaded = set(
        subprocess.run(
            [sys.executable, "-S", "-c", "import site; site.main(); " + code],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
    )
    codecs = {name for name in loaded if name.startswith("kwire_kafka.api.")}
    assert codecs == {"kwire_kafka.api.fetch"}
    assert not loaded & {
        "kwirec",
        "dataclasses",
        "inspect",
        "uuid",
        "mypy_extensions",
        "asyncio",
        "kwire.interpreter",
    }


@pytest.mark.skipif(kwire.is_native(), reason="native classes have no docstrings")
def test_public_names_exist_and_are_documented() -> None:
    for name in kwire.__all__:
        public = getattr(kwire, name)
        assert public.__doc__ if callable(public) else public is not None


def test_every_code_has_an_explanation_and_a_page() -> None:
    numbers = [code.number for code in catalogue.CODES]
    assert numbers == sorted(set(numbers))
    for code in catalogue.CODES:
        assert code.what
        assert code.why
        page = ROOT / "docs" / "rules" / f"{code.number}.md"
        assert page.read_text() == catalogue.page(code)
