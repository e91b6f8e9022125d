"""Checks that Spark can write to an output folder.

Errors are raised before Spark starts if they are already certain, and otherwise before any input is read.
"""

from __future__ import annotations

import os
from pathlib import Path

from kwire_inspect.options import OptionError
from kwire_inspect.storage import S3, RemotePlace
from kwire_spark.session import spark_home

PACKAGE = "org.apache.hadoop:hadoop-aws"
PROBE = "_kwire.check"
OWN_CLASSES = ("PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT", "SPARK_DIST_CLASSPATH")
OWN_SETTINGS = ("HADOOP_CONF_DIR", "PYSPARK_GATEWAY_PORT")


def checked_output(out: str) -> str:
    """Return Spark's name for the folder, with ``s3a`` instead of ``s3``.

    Raises :class:`OptionError` if it is already clear that Spark cannot write to the folder.
    """
    try:
        scheme, _, rest = out.partition("://")
        if scheme.lower() not in S3:
            return out
        _check_classes(out)
        _check_bucket(f"s3://{rest}")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None)
        raise OptionError(f"{out}: cannot write here: {reason}" if reason else str(error)) from None
    return f"s3a://{rest}"


def _check_classes(out: str) -> None:
    """Raise :class:`OptionError` if Spark uses its bundled classes, which do not include ``hadoop-aws``."""
    home = spark_home()
    jars = home / "jars"
    if any(map(os.environ.get, OWN_CLASSES)) or _settings(home) or any(jars.glob("hadoop-aws-*.jar")):
        return
    [hadoop, *_] = [*jars.glob("hadoop-client-api-*.jar"), Path("hadoop-client-api-VERSION.jar")]
    version = hadoop.stem.removeprefix("hadoop-client-api-")
    raise OptionError(
        f"{out}: Spark needs hadoop-aws to write there: "
        f"export PYSPARK_SUBMIT_ARGS='--packages {PACKAGE}:{version} pyspark-shell'"
    )


def _check_bucket(address: str) -> None:
    """Write a small object and remove it. Do nothing if Spark has its own S3 settings."""
    settings = _settings(spark_home()) + os.environ.get("PYSPARK_SUBMIT_ARGS", "")
    if "fs.s3a" not in settings and not any(map(os.environ.get, OWN_SETTINGS)):
        RemotePlace(f"{address.rstrip('/')}/{PROBE}").probe()


def _settings(home: Path) -> str:
    file = Path(os.environ.get("SPARK_CONF_DIR") or home / "conf", "spark-defaults.conf")
    return file.read_text(errors="replace") if file.is_file() else ""
