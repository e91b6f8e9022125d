"""The documentation of a project as pages of its guide."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from kwire_guide.doc_pages import contents, documentation, prose_pages
from kwire_guide.documents import DocumentError, read_documents
from kwire_guide.inputs import read_inputs
from kwire_guide.kips import read_kips, read_release_kips
from kwire_guide.nav import Site
from kwire_guide.pages import Kind
from kwire_guide.prose import read_prose, slug
from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.examples import clock
from kwirec.driver import load
from tests.guide.conftest import DOCS, ROOT, search_data


def project(tmp_path: Path, **texts: str) -> Path:
    for name, text in texts.items():
        file = tmp_path / re.sub("_(md|svg|png)$", r".\1", name.replace("__", "/"))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    return tmp_path


def test_links_between_documents_stay_and_others_keep_their_text(tmp_path: Path) -> None:
    readme = (
        "# P\n\n[clocks](docs/clock.md#all-the-hands), [code](src/a.py), [out](../../x.md), [web](https://a.example)"
        "\n\n[escaped](docs/%63lock.md), [same scheme](//b.example/docs/clock.md), [mail](mailto:a@b.example)"
    )
    where = project(tmp_path, README_md=readme, docs__clock_md="# C\n\n[up](../README.md) [here](#c)")
    body = {one.path: one.prose.body for one in read_documents([where / "README.md", where / "docs"])}
    assert '<a href="docs/clock.html#all-the-hands">clocks</a>, code, out, <a href="https://a.example">' in (
        body["project/README.html"]
    )
    assert '<a href="docs/clock.html">escaped</a>, <a href="//b.example/docs/clock.md">same scheme</a>' in (
        body["project/README.html"]
    )
    assert '<a href="mailto:a@b.example">mail</a>' in body["project/README.html"]
    assert '<a href="../README.html">up</a> <a href="#c">here</a>' in body["project/docs/clock.html"]


def test_folders_below_are_groups_and_start_with_their_readme(tmp_path: Path) -> None:
    where = project(tmp_path, docs__b_md="# B", docs__rules__A_md="# A", docs__rules__README_md="# All")
    found = [(one.path, one.folder) for one in read_documents([where / "docs"])]
    assert found == [
        ("project/docs/b.html", ""),
        ("project/docs/rules/README.html", "docs/rules"),
        ("project/docs/rules/A.html", "docs/rules"),
    ]


def test_the_map_gives_the_menu_and_the_order_of_pages(tmp_path: Path) -> None:
    """A folder whose pages are all on the map is no group of its own. Other folders have a menu of their own."""
    index = "# All\n\n## First: now\n\n[b](b.md) [web](https://a.example)\n\n### Deeper\n\n[a](a.md#x) [b](b.md)\n"
    where = project(
        tmp_path,
        README_md="# P\n\n## Read\n\n[docs](docs/README.md)",
        docs__README_md=f"{index}\n## None\n\n## Last\n\n[rules](rules/README.md), [y](how/y.md), [x](how/x.md)",
        **{f"docs__{name}_md": f"# {name}" for name in ("a", "b", "c", "rules__K1", "rules__README")},
        docs__how__x_md="# how__x",
        docs__how__y_md="# how__y",
    )
    documents = read_documents([where / "README.md", where / "docs"])
    groups = documentation(documents)
    assert [(one.title, [link.title for link in one.links], one.alone) for one in groups] == [
        ("Overview", ["P", "All"], False),
        ("First", ["b", "a"], False),
        ("Last", ["rules__README", "how__y", "how__x"], False),
        ("More", ["c"], False),
        ("Rules", ["rules__README", "rules__K1"], True),
    ]
    site = Site(title="S", subtitle="", about="", url="", newest="", nav=groups)
    pages = {page.path.removeprefix("project/docs/"): page for page in prose_pages([], documents)}

    def seen(path: str) -> tuple[list[str], list[str]]:
        """The groups of the menu, with a sign before those that are one link, and the pages around."""
        page = pages[path]
        titles = [
            one.title if site.lists(page, one) else f"> {one.title}" for _, menu in site.menu(page) for one in menu
        ]
        return titles, [link.title if link else "" for link in site.around(page)]

    assert seen("b.html") == (["S", "> Overview", "First", "> Last", "More"], ["All", "a"])
    assert seen("c.html")[1] == ["how__x", ""]
    assert seen("rules/K1.html") == (
        ["S", "> Overview", "> First", "> Last", "More", "Rules"],
        ["rules__README", ""],
    )
    other = replace(pages["b.html"], path="types.html", kind=Kind.TABLE)
    assert [(one.title, one.listed) for _, menu in site.menu(other) for one in menu] == [
        ("Documentation", "project/README.html")
    ]


def test_documents_without_a_map_are_one_group(tmp_path: Path) -> None:
    (links,) = documentation(read_documents([project(tmp_path, b_md="# B", a_md="# A")]))
    assert (links.title, [link.title for link in links.links], links.folder) == ("Documentation", ["A", "B"], "")


def test_long_pages_list_only_headings_of_the_first_level() -> None:
    def listed(*markdown: str) -> list[str]:
        return [heading.title for heading in contents(read_prose("\n\n".join(["# T", *markdown])).headings)]

    assert listed("## A", "### B", "#### C") == ["A", "B"]
    assert listed("## A") == []
    assert listed("## A", *["### B"] * 39) == ["A", *["B"] * 39]
    assert listed("## A", *["### B"] * 38, "## C", "## D") == ["A", "C", "D"]
    assert listed("## A", *["### B"] * 40, "## C") == ["A", "C"]


def test_pictures_are_in_the_page_and_missing_ones_are_text(tmp_path: Path) -> None:
    where = project(
        tmp_path,
        README_md="# P\n\n![plot](p.svg) ![none](q.svg) ![other](p.md) ![dots](d.png)",
        p_svg="<svg/>",
        d_png="x",
    )
    (found,) = read_documents([where / "README.md"])
    assert re.search(r'<img src="data:image/svg\+xml;base64,[\w+/=]+" alt="plot"', found.prose.body)
    assert 'none other <img src="data:image/png;base64,eA==" alt="dots"' in found.prose.body
    assert found.prose.body.count("<img") == 2


def test_nothing_is_shown_that_is_linked_from_elsewhere_or_large(tmp_path: Path) -> None:
    """A project may come from strangers: links of files and paths upwards would bring what is private into pages."""
    readme = "# P\n\n![up](../../secret.svg) ![large](large.svg) ![fits](fits.svg)\n"
    where = project(tmp_path / "a" / "docs", README_md=readme, large_svg="x" * 150_001, fits_svg="x" * 150_000)
    project(tmp_path, secret_svg="<svg/>", secret_md="# Secret")
    (where / "linked.md").symlink_to(tmp_path / "secret.md")
    (found,) = read_documents([where])
    assert found.path == "project/docs/README.html"
    assert found.prose.body.count("<img") == 1
    assert "up large <img" in found.prose.body


@pytest.mark.parametrize(
    ("text", "title", "about", "body"),
    [
        ("# *A*  `b`\r\n\r\nOne.\r\nTwo.\r\n", "A  b", "One.", "<p>One.\nTwo.</p>"),
        ("# T\n\nOne\\\ntwo: three. Four", "T", "One two: three.", "<p>One<br>\ntwo: three. Four</p>"),
        ("# T\n", "T", "", ""),
        ("# T\n\n| a |\n|:--|\n| b |\n\n| c |\n|:-:|\n| d |\n", "T", "a", 'aria-label="Table 2" tabindex="0">'),
    ],
)
def test_titles_and_first_sentences(tmp_path: Path, text: str, title: str, about: str, body: str) -> None:
    (found,) = read_documents([project(tmp_path, README_md=text)])
    assert (found.prose.title, found.prose.about) == (title, about)
    assert body in found.prose.body
    assert "\r" not in found.prose.body
    assert "\N{SYMBOL FOR CARRIAGE RETURN}" not in found.prose.body


def test_code_can_be_reached_by_keys_and_is_text(tmp_path: Path) -> None:
    for text in ("```\na < b\n```", "    a < b"):
        where = project(tmp_path, README_md=f"# P\n\n{text}\n")
        assert (
            '<pre tabindex="0"><code>a &lt; b\n</code></pre>' in read_documents([where / "README.md"])[0].prose.body
        )


@pytest.mark.parametrize("name", ["no_title_md", "b <_md"])
def test_what_is_no_document_is_refused_by_name(tmp_path: Path, name: str) -> None:
    project(tmp_path, **{name: "text" if name.startswith("no") else "# T"})
    with pytest.raises(DocumentError, match=r"\.md: "):
        read_documents([tmp_path])


def test_anchors_are_those_of_github() -> None:
    assert slug("What `kwirec diff` prints, in order") == "what-kwirec-diff-prints-in-order"
    assert (slug("Größe 日本"), slug("!?")) == ("größe-日本", "section")
    assert slug("A & B: 1.2_x") == "a--b-12_x"


@pytest.mark.slow
def test_every_page_of_the_documentation_is_there_and_is_searched(site: Mapping[str, str]) -> None:
    files = [path for path in DOCS if path.is_file()] + sorted((ROOT / "docs").rglob("*.md"))
    pages = {f"project/{file.relative_to(ROOT).as_posix().removesuffix('.md')}.html" for file in files}
    entries = search_data(site["assets/search.js"])["entries"]
    assert pages <= set(site)
    assert pages <= {place for place, *_ in entries}
    assert any("DecodeError" in names for place, _, _, names, *_ in entries if place.startswith("project/docs/api"))
    for folder in ("decisions", "rules", "benchmarks"):
        assert f'href="{folder}/' in site["project/docs/README.html"]


def test_headings_of_one_name_have_anchors_of_their_own() -> None:
    headings = read_prose("# P\n\n## Example\n\n## Example\n\n## Example\n").headings
    assert [one.anchor for one in headings] == ["example", "example-1", "example-2"]


WHOLE = """\
# The *hands* of `clocks`

They turn. Both of them, `hour`
and `minute`, as of KIP-7 and [KIP-8](kept.md) do.

## Same `name` twice

See [the _other_ `page`](kept.md#top), [no page](dropped.md), and KIP-9, not KIP-x.\\
![A clock](kept.png) and ![no clock](dropped.png).

| hand | `ms` | note |
|:-----|-----:|:----:|
| KIP-1 | 1 | [a](dropped.md) |

## Same `name` twice

```python
short < long  # KIP-2
```

- one
- two, `three`

### Last & least

| a |
|---|
| b |

    long > short
"""


def test_a_whole_page_of_prose(snapshot: SnapshotAssertion) -> None:
    """Two of everything: headings, tables, links that lead somewhere and others, pictures, code and proposals."""
    found = read_prose(WHOLE, lambda target: "" if target.startswith("dropped") else f"../{target}")
    assert str(found.body) == snapshot(name="body")
    assert (found.title, found.about, found.names) == (
        "The hands of clocks",
        "They turn.",
        ("hour", "minute"),
    )
    assert [(one.anchor, one.title, one.text, one.names) for one in found.headings] == [
        (
            "same-name-twice",
            "Same name twice",
            "See the other page, no page, and KIP-9, not KIP-x.  and no clock. hand ms note KIP-1 1 a",
            ("page", "ms"),
        ),
        ("same-name-twice-1", "Same name twice", "one two, three", ("three",)),
        ("last--least", "Last & least", "a b", ()),
    ]


def test_files_beside_definitions_are_read_from_all_folders_and_releases_from_the_first(tmp_path: Path) -> None:
    """In the order of the folders. What a later folder says of a message counts."""
    folders = [tmp_path / name for name in ("b", "a", "c")]
    for number, folder in enumerate(folders):
        (folder / "guide").mkdir(parents=True)
        (folder / f"M{number}.json").write_text(clock(name=f"M{number}"))
        (folder / "guide" / f"{number}-two.md").write_text(f"# Chapter {number}")
        (folder / "kips.json").write_text(json.dumps({"Same": {"0": [number + 1]}, f"M{number}": {"1": [7, 8]}}))
        line = {"source": folder.name, "message": f"M{number}", "version": 1, "hex": "00"}
        (folder / "examples.jsonl").write_text(f"{json.dumps(line)}\n" * 2)
        if number:
            release = {f"{number}.0.0": {"source": "memory", "apis": {}}}
            (folder / "releases.json").write_text(json.dumps(release))
    loaded = load(folders, Report())
    found = read_inputs(loaded, [*folders, folders[0] / "M0.json"], title="T", package="p")
    assert [message.name for message in found.schema.messages] == ["M0", "M1", "M2"]
    assert [one.prose.title for one in found.chapters] == ["Chapter 0", "Chapter 1", "Chapter 2"]
    assert [(one.source, one.message) for one in found.recorded] == [
        (name, f"M{number}") for number, name in enumerate("bac") for _ in range(2)
    ]
    assert found.kips == {"Same": {0: (3,)}, **{f"M{number}": {1: (7, 8)} for number in range(3)}}
    assert list(found.history.releases) == ["1.0.0"]
    assert (found.title, found.package, found.documents, found.errors) == ("T", "p", [], ())


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"A": {"1": [0]}}', "0 is not a KIP number"),
        ('{"A": {"one": [1]}}', "invalid literal"),
        ('{"A": {"1": 7}}', "is not iterable"),
        ("[]", "has no attribute"),
        ("{", "Expecting property name"),
    ],
)
def test_proposals_that_are_none_are_refused_with_the_name_of_their_file(
    tmp_path: Path, text: str, told: str
) -> None:
    (tmp_path / "kips.json").write_text(text)
    with pytest.raises(ValueError, match=told) as caught:
        read_kips([tmp_path])
    assert str(caught.value).startswith(f"{(tmp_path / 'kips.json').as_posix()}: ")


@pytest.mark.parametrize(
    ("text", "told"), [('{"1.0": {"9": 1}}', "1 is not a text"), ('{"1.0": {"x": "a"}}', "invalid literal")]
)
def test_changes_of_releases_are_texts(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "release_kips.json").write_text(text)
    with pytest.raises(ValueError, match=rf"release_kips\.json: .*{told}"):
        read_release_kips([tmp_path])
