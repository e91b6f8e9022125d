"""Pages of the guide in a real browser, opened as files: nothing is asked of a network, and what is chosen is shown.

A script in the page does what a person would do, and leaves what it saw.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.browser import BROWSER, told

pytestmark = [
    pytest.mark.skipif(not BROWSER, reason="no browser is installed"),
    pytest.mark.slow,
]

TOOLS = (Path(__file__).parent / "probe.js").read_text("utf-8")


@pytest.fixture(scope="module")
def folder(site: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    for path, text in site.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")
    return folder


def seen(folder: Path, path: str, script: str, *options: str) -> dict[str, Any]:
    """What a script told after it ran in a page of the site; ``path`` may have an anchor."""
    file, _, anchor = path.partition("#")
    page, probe = folder / file, folder / "assets" / "probe.js"
    probe.write_text(f"(async () => {{\n{TOOLS}\nawait soon();\n{script}\n}})();", "utf-8")
    root = "../" * file.count("/")
    copy = page.with_name(f"probed-{page.name}")
    text = page.read_text("utf-8")
    copy.write_text(text.replace("</body>", f'<script src="{root}assets/probe.js" defer></script></body>'), "utf-8")
    result = told(f"{copy.as_uri()}{'#' if anchor else ''}{anchor}", *options)
    assert result["console"] == []
    assert result["loaded"] == []
    return result


@pytest.mark.long
def test_the_version_bar_chooses_grammar_fields_and_bytes(folder: Path) -> None:
    result = seen(
        folder,
        "api/fetch.html",
        """
        await unfolded();
        const choose = async version => {
          const radio = current().querySelector(`.versions input[value="${version}"]`);
          radio.click();
          await until(() => location.hash.includes(`v${version}`));
          await soon();
          const grammar = seen(".current .grammars pre").map(pre => pre.textContent.split("\\n")[0]);
          return [grammar, fields().map(tr => tr.id), told(".facts"), location.hash,
                  current().querySelector(".spans tbody").textContent.includes("fetch_offset")];
        };
        const old = await choose(4);
        const before = history.length;
        const now = await choose(18);
        tell({ old, now, entries: history.length - before });
        """,
    )
    grammar, places, facts, anchor, has_offset = result["old"]
    assert grammar == [
        "FetchRequest (Version 4) => replica_id max_wait_ms min_bytes max_bytes isolation_level [topics]"
    ]
    assert "request.replica_id" in places
    assert "request.rack_id" not in places
    assert facts.startswith("Version 4: header 1, not flexible, stable; releases ")
    assert anchor == "#request-v4"
    assert has_offset
    assert "request.replica_state.replica_epoch" in result["now"][1]
    assert result["entries"] == 0  # going back leaves the page, and does not walk through choices


def test_key_and_value_have_versions_of_their_own(folder: Path) -> None:
    script = "tell({ value: one('.parts a[data-part=value]').hash, key: one('.parts a[data-part=key]').hash });"
    result = seen(folder, "coordinator/offset_commit.html#value-v1", script)
    assert (result["key"], result["value"]) == ("#key", "#value-v1")


@pytest.mark.parametrize("anchor", ["request-v12-bytes", "request-v12-vs-11-bytes"])
def test_a_link_to_a_section_in_a_version_leads_to_it(folder: Path, anchor: str) -> None:
    script = """
        await soon();
        const top = one("[id='request-bytes']").getBoundingClientRect().top;
        tell({ facts: told(".facts"), below: top - current().querySelector(".bar").getBoundingClientRect().bottom });
    """
    result = seen(folder, f"api/fetch.html#{anchor}", script, "--window-size=1280,900")
    assert result["facts"].startswith("Version 12: ")
    assert 0 <= result["below"] < 40


@pytest.mark.long
@pytest.mark.parametrize("size", ["1280,900", "1000,900", "500,900"])
@pytest.mark.parametrize("anchor", ["request-v12", "request-v12-vs-4"])
def test_anchors_are_below_what_stays_at_the_top(folder: Path, anchor: str, size: str) -> None:
    result = seen(
        folder,
        f"api/fetch.html#{anchor}",
        """
        const tops = [];
        for (const place of ["-fields", ".topics.partitions.fetch_offset", "-history"]) {
          location.hash = location.hash.match(/^#request-v[0-9]+(-vs-[0-9]+)?/)[0] + place;
          await soon();
          await soon();
          const bar = current().querySelector(".bar");
          const sticky = getComputedStyle(bar).position === "sticky" ? [bar] : [];
          const bottom = Math.max(...[one(".top"), ...sticky].map(found => found.getBoundingClientRect().bottom));
          tops.push(document.getElementById(`request${place}`).getBoundingClientRect().top - bottom);
        }
        tell({ tops });
        """,
        f"--window-size={size}",
    )
    assert all(0 <= top < 40 for top in result["tops"]), result["tops"]


def test_anchors_of_pages_without_versions_are_just_below_the_header(folder: Path) -> None:
    script = """
        one("[id='40']").scrollIntoView();
        tell({ below: one("[id='40']").getBoundingClientRect().top - one(".top").getBoundingClientRect().bottom });
    """
    assert 0 <= seen(folder, "errors.html", script)["below"] < 30


def test_the_pages_are_listed_on_a_phone_too(folder: Path) -> None:
    result = seen(
        folder,
        "errors.html",
        """
        const menu = one("#menu");
        const shown = () => Boolean(one(".side").getClientRects().length);
        const before = shown();
        menu.click();
        const open = [shown(), menu.getAttribute("aria-expanded")];
        const [box, place] = [menu.getBoundingClientRect(), one(".side").getBoundingClientRect()];
        const center = document.elementFromPoint((box.left + box.right) / 2, (box.top + box.bottom) / 2);
        one(".side").scrollTop = 1e6;
        const last = one(".side").lastElementChild.getBoundingClientRect();
        const reach = { free: center === menu, bottom: place.bottom - innerHeight, last: last.bottom <= innerHeight,
                        top: place.top - one(".top").getBoundingClientRect().bottom };
        document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
        const after = shown();
        const focused = document.activeElement.id;
        menu.click();
        const again = shown();
        one(".brand").parentElement.click();
        tell({ before, open, after, focused, reach, again, beside: shown() });
        """,
        "--window-size=500,900",
    )
    assert (result["before"], result["open"], result["after"]) == (False, [True, "true"], False)
    assert result["focused"] == "menu"
    assert (result["again"], result["beside"]) == (True, False)  # a touch beside the list closes it
    reach = result["reach"]
    assert reach["free"]
    assert reach["last"]  # the list ends with the window, and its last page can be scrolled to
    assert abs(reach["bottom"]) < 1
    assert abs(reach["top"]) < 3


def test_the_search_says_that_it_loads_and_then_follows_enter(folder: Path) -> None:
    result = seen(
        folder,
        "guide/framing.html",
        """
        const box = one("#search");
        let gone = "";
        document.addEventListener("click", event => {
          const link = event.target.closest("#hits a");
          if (!link) return;
          event.preventDefault();
          gone = link.getAttribute("href");
        }, true);
        box.value = "error 27";
        box.dispatchEvent(new Event("input", { bubbles: true }));
        const at_first = one("#hits").textContent;
        box.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
        await until(() => gone);
        tell({ at_first, gone });
        """,
    )
    assert result["at_first"] == "Loading…"
    assert result["gone"] == "../errors.html#27"


def test_a_search_that_cannot_be_loaded_says_so_and_tries_again(folder: Path) -> None:
    result = seen(
        folder,
        "guide/framing.html",
        """
        const box = one("#search"), head = document.head, append = head.append;
        const type = () => box.dispatchEvent(new Event("input", { bubbles: true }));
        head.append = script => { script.src += ".gone"; append.call(head, script); };
        box.value = "error 27";
        type();
        await until(() => one("#hits").textContent !== "Loading…");
        const failed = one("#hits").textContent;
        head.append = append;
        type();
        await until(() => one("#hits a"));
        tell({ failed, hit: one("#hits a").getAttribute("href") });
        """,
    )
    assert (result["failed"], result["hit"]) == ("The search could not be loaded", "../errors.html#27")


def test_a_link_to_what_is_folded_unfolds_it(folder: Path) -> None:
    script = """
        const open = () => all("details[open] h3").map(head => head.textContent);
        const first = open();
        location.hash = "#request-definition";
        await soon();
        const then = open(), older = () => current().querySelector(".history details").open;
        const before = older();
        location.hash = "#request-v9-vs-4";
        await soon();
        tell({ seen: [first, then, before, older()] });
    """
    assert seen(folder, "api/fetch.html", script)["seen"] == [[], ["Definition"], False, True]


def test_blocks_of_code_are_copied_without_prompts_and_fields_as_links(folder: Path) -> None:
    result = seen(
        folder,
        "api/fetch.html#request-v12",
        """
        let clipboard = "";
        const write = async text => { clipboard = text; };
        Object.defineProperty(navigator, "clipboard", { value: { writeText: write }, configurable: true });
        one("[id='request.max_bytes'] a").focus();
        one(".pilcrow").click();
        await soon();
        const field = clipboard.split("#")[1];
        await unfolded();
        current().querySelector(".grammars .shown .copy").click();
        await soon();
        tell({ field, grammar: clipboard.slice(0, 26), blocks: all("main .code .copy").length });
        """,
    )
    assert result["field"] == "request-v12.max_bytes"
    assert result["grammar"] == "FetchRequest (Version 12) "
    assert result["blocks"] == 5  # grammar, and Python and definition of both halves
    result = seen(
        folder,
        "project/docs/guide.html",
        """
        let clipboard = "";
        const write = async text => { clipboard = text; };
        Object.defineProperty(navigator, "clipboard", { value: { writeText: write }, configurable: true });
        const found = [];
        for (const text of [one("pre").textContent, "$ a \\\\\\n  --b\\nprinted\\n$ c\\n", "one \\\\\\n  two\\n"]) {
          one("pre").textContent = text;
          one("pre").parentElement.querySelector(".copy").click();
          await soon();
          found.push(clipboard);
        }
        tell({ found });
        """,
    )
    command, console, other = result["found"]
    assert command.startswith("kwirec guide message_defs/kafka")
    assert "\n" not in command
    assert (console, other) == ("a \\\n  --b\nc", "one \\\n  two\n")


def test_fields_have_half_of_the_width_and_no_word_is_broken(folder: Path) -> None:
    """At 1280 px. The page of Fetch is short, and its script and layout are few."""
    result = seen(
        folder,
        "api/fetch.html",
        """
        const width = found => found.getBoundingClientRect().width;
        const shares = seen(".fields .doc").map(doc => width(doc) / width(doc.closest("table")));
        const broken = seen(".fields .type").filter(type => {
          const range = document.createRange();
          const words = [...type.textContent.matchAll(/[A-Z_]{2,}/g)];
          return words.some(({ index, 0: word }) => {
            range.setStart(type.firstChild, index);
            range.setEnd(type.firstChild, index + word.length);
            return range.getClientRects().length > 1;
          });
        });
        const tall = document.documentElement.scrollHeight;
        tell({ share: Math.min(...shares), broken: broken.map(type => type.textContent), tall });
        """,
        "--window-size=1280,900",
    )
    assert result["share"] >= 0.5
    assert result["broken"] == []
    assert result["tall"] <= 4500


def test_the_keyboard_reaches_the_search_and_copies(folder: Path) -> None:
    result = seen(
        folder,
        "api/api_versions.html",
        """
        document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "/", bubbles: true }));
        const focused = document.activeElement.id;
        await search("Fetch");
        one("#search").blur();
        const before = document.documentElement.dataset.theme;
        one("#theme").click();
        let clipboard = "";
        const write = async text => { clipboard = text; };
        Object.defineProperty(navigator, "clipboard", { value: { writeText: write }, configurable: true });
        current().querySelector("[data-copy=hex]").click();
        const copy = name => current().querySelector(`[data-copy=${name}]`).textContent;
        await until(() => copy("hex") === "Copied");
        const hex = clipboard;
        current().querySelector("[data-copy=command]").click();
        await until(() => clipboard !== hex);
        const after = document.documentElement.dataset.theme;
        tell({ focused, copied: copy("command"), before, after, command: told(".command"), hex, clipboard,
               shown: [...current().querySelectorAll(".hex b")].map(byte => byte.textContent).join("") });
        """,
    )
    assert result["hex"] == result["shown"]
    assert result["clipboard"] == result["command"]
    assert result["focused"] == "search"
    assert result["copied"] == "Copied"
    assert {result["before"], result["after"]} == {"dark", "light"}
    assert result["command"].startswith("kwire decode --payload 0012")


PAGES = (
    *("index.html", "api/fetch.html", "coordinator/offset_commit.html", "metadata/topic_record.html", "headers.html"),
    *("data/snapshot_header_record.html", "errors.html", "enums.html", "types.html", "guide/groups.html"),
    *("releases/index.html", "releases/4.0.0.html", "project/README.html", "project/docs/diff.html"),
    *("project/docs/benchmarks/peers.html", "project/docs/rules/K412.html", "kips.html", "404.html"),
    *("guide/records.html", "api/fetch.html#errors"),
)
"""A page of each kind of page and of part."""


BROKEN = """
    for (const box of all("details")) box.open = true;
    await soon();
    const range = document.createRange();
    const broken = all("body :not(script, pre, pre *, .raw *, .skip, .hide, .spans td)").flatMap(found => {
      const texts = [...found.childNodes].filter(node => node.nodeType === 3 && found.getClientRects().length);
      return texts.flatMap(text => [...text.textContent.matchAll(/[A-Za-z0-9]+/g)].filter(({ index, 0: word }) => {
        range.setStart(text, index);
        range.setEnd(text, index + word.length);
        return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1;
      }).map(([word]) => word));
    });
    const box = document.querySelector("#search");
    const hint = box?.offsetWidth ? box.scrollWidth - box.clientWidth : 0;
    tell({ heading: one("h1").textContent, broken, hint, wider: document.documentElement.scrollWidth - innerWidth });
"""
"""Words that a line breaks within, and pixels by which the hint of the search and the page are too wide."""


@pytest.mark.long
@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("width", [500, 794])
def test_pages_load_alone_and_fit_a_phone_and_paper(folder: Path, path: str, width: int) -> None:
    result = seen(folder if width == 500 else printed(folder), path, BROKEN, f"--window-size={width},900")
    assert result["heading"]
    assert (result["broken"], result["hint"]) == ([], 0)
    assert result["wider"] <= 0


def test_cells_of_a_matrix_have_one_line(folder: Path) -> None:
    script = """
        const range = document.createRange();
        const lines = found => (range.selectNodeContents(found), range.getClientRects().length);
        const cells = all(".matrix td");
        tell({ cells: cells.length, broken: cells.filter(td => lines(td) > 1).map(td => td.textContent) });
    """
    result = seen(folder, "releases/index.html", script)
    assert result["cells"] > 900
    assert result["broken"] == []


def printed(folder: Path) -> Path:
    """A copy of the site whose screen looks like paper."""
    copy = folder.with_name(f"{folder.name}-printed")
    if not copy.is_dir():
        shutil.copytree(folder, copy)
        style = copy / "assets" / "page.css"
        text = style.read_text("utf-8").replace("@media screen", "@media none").replace("@media print", "@media all")
        style.write_text(text, "utf-8")
    return copy


@pytest.mark.skipif("KWIRE_AXE" not in os.environ, reason="KWIRE_AXE names no axe.min.js: make guide-check")
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("path", PAGES)
def test_axe_finds_nothing(folder: Path, path: str, theme: str) -> None:
    axe = Path(os.environ["KWIRE_AXE"]).read_text("utf-8")
    result = seen(
        folder,
        path,
        f"""
        document.documentElement.dataset.theme = "{theme}";
        {axe}
        const rules = {{ "target-size": {{ enabled: true }} }};  // of WCAG 2.2: off by default
        const {{ violations }} = await window.axe.run(document, {{ preload: false, rules }});
        tell({{ found: violations.map(({{ id, nodes }}) => [id, nodes.length, nodes[0].html.slice(0, 200)]) }});
        """,
    )
    assert result["found"] == []
