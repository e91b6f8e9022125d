"""The command ``kwirec guide``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kwire_guide.site import write_site
from kwirec.command import options
from kwirec.command.output import files_text, make_from
from kwirec.command.printing import FINDINGS, echo
from kwirec.diagnostics.columns import printable

if TYPE_CHECKING:
    from kwirec.diagnostics.diagnostic import Report
    from kwirec.driver import Generated, Loaded, Phase
    from kwirec.frontend.notation import Notation


@click.command()
@options.paths
@options.notation
@options.reporting
@click.option("--out", type=click.Path(path_type=Path), default=Path("site"), show_default=True)
@click.option("--title", help="Title of the site.  [default: name of the first folder, followed by `protocol`]")
@click.option("--package", default="", help="Generated package that the Python examples import.")
@click.option(
    "--docs",
    multiple=True,
    type=click.Path(path_type=Path, exists=True),
    help="Markdown file or folder to add to the site.",
)
@click.option("--url", default="", help="Address of the published site, for canonical links and 404.html.")
@click.option(
    "--release",
    default="",
    help="Release to show on the pages. With --url, the pages also link to versions.html.",
)
@options.only_check
@options.quiet
def guide(
    paths: Sequence[Path],
    form: str,
    report: Report,
    out: Path,
    title: str | None,
    package: str,
    docs: Sequence[Path],
    url: str,
    release: str,
    only_check: bool,
    quiet: bool,
    notation: Notation | None,
) -> None:
    """Write the protocol guide: a static site of every message in every version.

    The site works from the file system and on a server. The command reads `releases.json`, `errors.json`, recorded
    frames in `examples.jsonl`, and chapters in `guide/*.md` next to the definitions, if they exist. Pages from
    `--docs` keep their folders and the links between them. Only files of an earlier run are replaced or removed.
    """
    if package:
        options.check_package_name(package)
    if url and not url.startswith(("https://", "http://")):
        raise click.UsageError(f"--url {printable(url)}: it must begin with https:// or http://")
    url = url and f"{url.rstrip('/')}/"
    title = title or f"{paths[0].resolve().stem} protocol"

    def make(loaded: Loaded, phase: Phase) -> Generated:
        try:
            return write_site(
                loaded,
                paths,
                title=title,
                package=package,
                docs=docs,
                url=url,
                release=release,
                out=out,
                check=only_check,
                phase=phase,
            )
        except (OSError, ValueError) as problem:  # invalid files next to the definitions
            raise click.UsageError(printable(str(problem))) from problem

    result = make_from(paths, form, report, notation, quiet, make)
    files = files_text(result.outcome, result.seconds, only_check)
    echo(f"{result.messages} messages, {result.versions} versions; {files}", err=True)
    if not only_check:
        echo(f"open {(out / 'index.html').as_posix()}", err=True)
    elif not result.outcome.is_clean:
        sys.exit(FINDINGS)
