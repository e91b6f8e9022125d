"""Emits and writes all files of the guide."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from kwire_guide.assets import assets
from kwire_guide.doc_pages import documentation, prose_pages
from kwire_guide.examples import Examples
from kwire_guide.fields import Names
from kwire_guide.inputs import Inputs, read_inputs
from kwire_guide.kip_pages import kip_page
from kwire_guide.messages import message_view
from kwire_guide.nav import Site, index_page, navigation
from kwire_guide.pages import MESSAGE_KINDS, Kind, MessagePage, OtherPage
from kwire_guide.release_pages import release_pages
from kwire_guide.releases import Releases
from kwire_guide.rendering import render
from kwire_guide.search import search_script
from kwire_guide.tables import table_pages
from kwire_rules.guide import page_of
from kwirec.driver import Generated, Loaded, Phase, digest, quiet
from kwirec.emitters.compat_matrix import message_matrix
from kwirec.emitters.compat_pages import negotiation_table
from kwirec.emitters.environment import Artifact
from kwirec.emitters.modules import ModuleGroup, group_modules
from kwirec.emitters.release_facts import negotiations
from kwirec.emitters.write import write
from kwirec.guide import part_of
from kwirec.ir.schema import MessageKind

MISSING = OtherPage(path="404.html", title="No such page", kind=Kind.TABLE, template="missing.html.jinja")
"""The page that servers return for any address at which the site has no page."""

Progress = Callable[[int, int], None]
"""A function that is called with the number of finished pages and the total number."""


def write_site(
    loaded: Loaded,
    paths: Sequence[Path],
    *,
    title: str,
    package: str,
    docs: Sequence[Path] = (),
    url: str = "",
    release: str = "",
    out: Path,
    check: bool = False,
    phase: Phase = quiet,
) -> Generated:
    """Write the guide to the folder ``out``. With ``check``, only report the files that would change.

    Raise ``OSError`` or ``ValueError`` for an unreadable or malformed file next to the definitions. Raise
    :class:`~kwirec.driver.OutputNotGeneratedError` if ``out`` contains files that kwirec did not write.
    """
    inputs = read_inputs(loaded, paths, title=title, package=package, docs=docs, url=url, release=release)
    layouts = inputs.layouts
    artifacts = emit_site(inputs, lambda done, total: phase("emit", done, total))
    outcome = write(artifacts, out, origin={"definitions": digest(loaded)}, check=check)
    return Generated(
        messages=len(loaded.schema.messages),
        versions=layouts.count,
        layouts=layouts.distinct,
        outcome=outcome,
        seconds=time.perf_counter() - loaded.started,
    )


def emit_site(inputs: Inputs, progress: Progress = lambda done, total: None) -> list[Artifact]:
    """Return every file of the site."""
    releases = Releases(inputs.history)
    messages = list(_message_pages(inputs, releases))
    others = [
        *prose_pages(inputs.chapters, inputs.documents),
        *table_pages(inputs.schema, inputs.errors, messages, releases.names),
        *release_pages(
            inputs.history, releases, messages, inputs.title.removesuffix(" protocol"), inputs.release_kips
        ),
    ]
    if proposals := kip_page(messages, others, inputs.release_kips):
        others.append(proposals)
    site = _site(inputs, releases, messages, others)
    pages = [index_page(inputs.title, inputs.start, messages, others, releases), *messages, *others, MISSING]
    found = []
    for number, page in enumerate(pages, 1):
        root = inputs.url if page is MISSING and inputs.url else page.root
        template = page.template if isinstance(page, OtherPage) else "message.html.jinja"
        found.append(Artifact(path=page.path, text=render(template, page=page, site=site, root=root)))
        progress(number, len(pages))
    search = search_script(inputs, messages, others)
    return [*found, *assets(), Artifact(path="assets/search.js", text=search)]


def _message_pages(inputs: Inputs, releases: Releases) -> Iterator[MessagePage]:
    groups = group_modules(inputs.schema)
    classes = {message: names for group in groups for message, names in group.names.items()}
    examples = Examples(inputs.layouts, inputs.recorded, classes)
    tables = {api.key: negotiation_table(api) for api in negotiations(inputs.history)}
    errors = {str(one.code.value): one.name.value for one in inputs.errors}
    for group in groups:
        names = Names({part_of(one): one for one in group.messages})
        views = [
            message_view(
                one,
                inputs.layouts,
                message_matrix(one, inputs.layouts),
                releases,
                examples,
                errors,
                names,
                inputs.package,
            )
            for one in group.messages
        ]
        key = next((one.api_key for one in group.messages if one.is_rpc), None)
        table = tables.get(-1 if key is None else key, ())
        yield MessagePage(
            path=page_of(group.path),
            title=title_of(group),
            kind=MESSAGE_KINDS[group.path.partition(".")[0]],
            doc=group.messages[0].doc,
            group=group,
            messages=views,
            negotiation=table if len(table) > 1 else (),
            package=inputs.package,
            kips=inputs.kips,
            errors=inputs.api_errors.get(title_of(group), ()) if key is not None else (),
        )


def title_of(group: ModuleGroup) -> str:
    """Return the API or record type of a module: its message name without ``Request``, ``Response``, ``Key`` or
    ``Value``.
    """
    first = group.messages[0]
    if first.kind is MessageKind.HEADER:
        return "Headers"
    endings = {
        MessageKind.REQUEST: "Request",
        MessageKind.RESPONSE: "Response",
        MessageKind.COORDINATOR_KEY: "Key",
        MessageKind.COORDINATOR_VALUE: "Value",
    }
    return first.name.removesuffix(endings.get(first.kind, ""))


def _site(inputs: Inputs, releases: Releases, messages: Sequence[MessagePage], others: Sequence[OtherPage]) -> Site:
    count = sum(len(page.messages) for page in messages)
    span = f"{releases.names[0]} to {releases.newest}, " if releases.names else ""
    counts = {
        "APIs": sum(page.kind is Kind.API for page in messages),
        "messages": count,
        "versions": inputs.layouts.count,
        "recorded frames": len(inputs.recorded),
        "releases": len(releases.names),
    }
    return Site(
        title=inputs.title,
        subtitle=f"{span}every version",
        about=f"{count} messages in {inputs.layouts.count} versions.",
        url=inputs.url,
        release=inputs.release,
        newest=releases.newest,
        nav=navigation([*messages, *others], documentation(inputs.documents)),
        counts=[(number, name) for name, number in counts.items() if number],
    )
