"""``--out`` in a store: what is certain to fail is one line before Spark starts."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from kwire.command import main as run
from kwire_inspect.command.engines import checked_output
from kwire_inspect.options import OptionError
from kwire_inspect.storage import stores
from kwire_spark.output import OWN_CLASSES, OWN_SETTINGS
from tests.support.s3_server import NOWHERE, Store, serving

DEFAULTS = "spark-defaults.conf"


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment that says nothing about Spark, or about stores."""
    for name in (*OWN_CLASSES, *OWN_SETTINGS, "SPARK_HOME", "SPARK_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    Store(port=1).use(monkeypatch)
    stores.file_system.cache_clear()


def test_what_to_give_spark_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.log").write_text("never read")
    assert run(["clients", str(tmp_path / "a.log"), "--out", "s3://bucket/a", "-q"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert re.search(
        r"s3://bucket/a: Spark needs hadoop-aws to write there: "
        r"export PYSPARK_SUBMIT_ARGS='--packages org.apache.hadoop:hadoop-aws:3\.\d+\.\d+ pyspark-shell'$",
        line,
    )


@pytest.mark.parametrize(
    "out", ["s3a://key:let/mein@bucket/a", "S3://key:letmein@bucket", "hdfs://u:letmein@h/a", "https:/u:letmein@h/a"]
)
def test_secrets_are_neither_taken_nor_shown(out: str) -> None:
    with pytest.raises(OptionError, match="an address with a password") as raised:
        checked_output(out)
    assert "letmein" not in str(raised.value)


@pytest.mark.slow
def test_a_bucket_is_tried_unless_spark_has_settings_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    classes = "--jars hadoop-aws.jar pyspark-shell"
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", classes)
    monkeypatch.setenv("AWS_ENDPOINT_URL", NOWHERE)
    with pytest.raises(OptionError, match=r"^s3n://bucket/a: cannot write here: the store cannot be reached"):
        checked_output("s3n://bucket/a")
    settings = "spark.hadoop.fs.s3a.endpoint other"
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--conf {settings.replace(' ', '=')} {classes}")
    assert checked_output("s3n://bucket/a") == "s3a://bucket/a"
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", classes)
    (tmp_path / "spark-defaults.conf").write_text(settings)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert checked_output("S3://bucket/a") == "s3a://bucket/a"


@pytest.mark.slow
def test_a_bucket_that_only_reads_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--jars hadoop-aws.jar pyspark-shell")
    with serving() as store:
        store.use(monkeypatch)
        store.fault = lambda request: (403, "AccessDenied") if request.method in ("PUT", "POST") else None
        with pytest.raises(
            OptionError, match="cannot write here: access is denied: check the credentials and their permissions"
        ):
            checked_output("s3a://bucket/a")
        store.fault = lambda request: None
        assert checked_output("s3a://bucket/a/") == "s3a://bucket/a/"
        assert {one.method for one in store.requests} >= {"DELETE"}
        assert store.objects.keys() == {"bucket/a"}, "the empty folder, which Arrow leaves"


@pytest.mark.parametrize("out", ["kwire-out", "hdfs://name/a", "gs://bucket/a", "file:///tmp/a"])
def test_other_folders_are_as_they_were(out: str) -> None:
    assert checked_output(out) == out


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of a Spark with its own classes alone."""
    (tmp_path / "home" / "jars").mkdir(parents=True)
    (tmp_path / "home" / "conf").mkdir()
    (tmp_path / "home" / "jars" / "hadoop-client-api-3.4.1.jar").touch()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses to which a small object is written."""
    found: list[str] = []
    monkeypatch.setattr(
        "kwire_spark.output.RemotePlace", lambda one: SimpleNamespace(probe=lambda: found.append(one))
    )
    return found


@pytest.mark.parametrize("variable", ["", "PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT", "SPARK_DIST_CLASSPATH"])
@pytest.mark.parametrize("file", ["", "jars/hadoop-aws-3.4.1.jar", f"conf/{DEFAULTS}", f"other/{DEFAULTS}"])
def test_spark_may_have_classes_for_stores(
    home: Path, tried: list[str], monkeypatch: pytest.MonkeyPatch, variable: str, file: str
) -> None:
    """By a variable, among its own, or by its settings."""
    if variable:
        monkeypatch.setenv(variable, "something")
    if file:
        (home / file).parent.mkdir(exist_ok=True)
        (home / file).write_text("spark.jars.packages x\n")
    if file.startswith("other"):
        monkeypatch.setenv("SPARK_CONF_DIR", str(home / "other"))
    if variable or file:
        assert checked_output("S3N://bucket/a/") == "s3a://bucket/a/"
        assert tried == ([] if variable in OWN_SETTINGS else ["s3://bucket/a/_kwire.check"])
    else:
        with pytest.raises(OptionError) as raised:
            checked_output("s3n://bucket/a")
        wanted = "export PYSPARK_SUBMIT_ARGS='--packages org.apache.hadoop:hadoop-aws:3.4.1 pyspark-shell'"
        assert str(raised.value) == f"s3n://bucket/a: Spark needs hadoop-aws to write there: {wanted}"
        (home / "jars" / "hadoop-client-api-3.4.1.jar").unlink()
        with pytest.raises(OptionError, match="hadoop-aws:VERSION pyspark-shell'"):
            checked_output("s3n://bucket/a")


@pytest.mark.parametrize("variable", ["", "HADOOP_CONF_DIR", "PYSPARK_GATEWAY_PORT"])
@pytest.mark.parametrize("submitted", ["", "--conf spark.hadoop.fs.s3a.endpoint=x"])
@pytest.mark.parametrize("settings", [None, "", "spark.hadoop.fs.s3a.endpoint x"])
def test_a_bucket_is_tried_if_spark_has_no_settings_of_its_own(
    home: Path, tried: list[str], monkeypatch: pytest.MonkeyPatch, variable: str, submitted: str, settings: str | None
) -> None:
    (home / "jars" / "hadoop-aws-3.4.1.jar").touch()
    for name, value in {variable: "x", "PYSPARK_SUBMIT_ARGS": submitted}.items():
        if name and value:
            monkeypatch.setenv(name, value)
    if settings is None:
        (home / "conf" / "spark-defaults.conf").mkdir()
    else:
        (home / "conf" / "spark-defaults.conf").write_text(settings)
    assert checked_output("s3://bucket/a") == "s3a://bucket/a"
    assert tried == ([] if variable or submitted or settings else ["s3://bucket/a/_kwire.check"])
