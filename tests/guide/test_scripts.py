"""What the scripts make of pages of a small protocol: what the browser has after each step of a reader."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import ndiff
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.guide.test_browser import printed, pytestmark, seen  # noqa: F401
from tests.guide.test_pages import Shown, clocks  # noqa: F401
from tests.support.browser import opened


@pytest.fixture(scope="module")
def folder(clocks: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    folder = tmp_path_factory.mktemp("site")
    for path, text in clocks.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")
    return folder


STEPS = {
    "a comparison": "",
    "a click on a version": """current().querySelector("[name=request-version][value='1']").click()""",
    "a version to compare with": """
        const select = current().querySelector("select");
        select.value = "2";
        select.dispatchEvent(new Event("change"));
    """,
    "the other half": """one(".parts [data-part=response]").click()""",
    "versions that are none": """location.hash = "#request-v9-vs-8" """,
    "a field that this version lacks": """location.hash = "#request-v2.alarms.hour" """,
    "a pointer over a field": "over(one('.current .fields tbody td'))",
    "a pointer over a byte": "over(all('.current .hex b')[9])",
    "a pointer over a byte of no field": "over(all('.current .hex b')[6])",
    "a click on a line of the grammar": """all(".current .shown .line")[1].lastChild.parentElement.click()""",
    "a pointer elsewhere": "over(all('.current .box')[1])",
    "a click on a box": """all(".current .box")[1].click()""",
    "a focus on a field": "current().querySelector('.fields tbody a').focus()",
    "a pointer that leaves": """current().dispatchEvent(new PointerEvent("pointerleave"))""",
}
PLACES = {
    "a pointer over a release": "over(one('.current .grid td.accepted'))",
    "a place that is none": "location.hash = '#100%'",
    "a place that is folded": "location.hash = '#negotiation'",
    "the oldest version": "location.hash = '#request-v0'",
    "an older one": "press('[')",
    "a newer one": "press(']')",
    "keys where a version is compared with, and where it is chosen": """
        press("]", current().querySelector("select"));
        press("]", current().querySelector(".versions input"));
    """,
    "the keys of halves and others": "press('r'); press('x')",
    "fields that are the same": "location.hash = '#response-v1-vs-0'",
    "the same version": "location.hash = '#response-v1-vs-1'",
    "a field of a comparison": "location.hash = '#request-v2-vs-1.zone'",
    "the way back": "history.back()",
}


def told(steps: Iterable[str], states: Iterable[tuple[str, str]]) -> Iterator[str]:
    """What there is at first, and what each step changes."""
    before: list[str] = []
    for name, (place, html) in zip(steps, states, strict=True):
        now = [line for line in Shown(f"<main>{html}</main>", "main").lines if line]
        changes = [line for line in ndiff(before, now) if line[0] in "+-"]
        yield f"{name}: {place}, {sum(line[0] == '-' for line in changes)} lines gone"
        yield from (line for line in changes if line[0] == "+")
        before = now


def functions(steps: Mapping[str, str]) -> str:
    return ",".join(f"async () => {{ {step} }}" for step in steps.values())


def test_what_readers_see_of_a_message(folder: Path, snapshot: SnapshotAssertion) -> None:
    script = f"""
        const over = found => found.dispatchEvent(new PointerEvent("pointerover", {{ bubbles: true }}));
        const press = (key, where = document.body) =>
          where.dispatchEvent(new KeyboardEvent("keydown", {{ key, bubbles: true }}));
        const states = [];
        for (const [at, step] of [{functions(STEPS | PLACES)}].entries()) {{
          await step();
          await soon();
          await soon();
          const copy = current().cloneNode(true);
          const still = "script, .definition, .python, .conversions, .releases > :not(summary), .fields .doc, .signs";
          for (const gone of copy.querySelectorAll(still)) gone.remove();
          copy.querySelector(".bar").removeAttribute("style");
          const boxes = copy.querySelectorAll("input, select");
          for (const [at, box] of [...current().querySelectorAll("input, select")].entries()) {{
            boxes[at].setAttribute("value", `${{box.value}} ${{box.checked ?? ""}}`);
          }}
          const title = one(".current .grid .accepted")?.title;
          const lit = current().querySelector(".fields tr.lit")?.id;
          const open = one("main > details").open;
          const place = [location.hash, history.length, open, title, told(".facts"), lit].join(" ");
          states.push([place, at < {len(STEPS)} ? one(".parts").outerHTML + copy.outerHTML : ""]);
        }}
        tell({{ states }});
    """
    states = seen(folder, "api/clock.html#request-v2-vs-0", script)["states"]
    assert "\n".join(told(STEPS | PLACES, states)) == snapshot


TOOLS = """
    let clipboard = "";
    const write = async text => { clipboard = text; };
    Object.defineProperty(navigator, "clipboard", { value: { writeText: write }, configurable: true });
    const box = one("#search");
    const press = (key, target = box, more = {}) =>
      target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more }));
    const type = async text => {
      box.value = text;
      box.dispatchEvent(new Event("input", { bubbles: true }));
      await until(() => one("#hits").textContent !== "Loading…");
    };
    const over = (kind, selector) =>
      one(selector).dispatchEvent(new MouseEvent(kind, { bubbles: kind === "mouseover" }));
"""
BESIDE = {
    "a page": "",
    "a click on the menu": "one('#menu').click()",
    "a click within the list": "one('#side p, #side summary, #side ul').click()",
    "a click beside it": "one('main p').click()",
    "a click on a link of it": """
        one("#menu").click();
        one("#side a").addEventListener("click", event => event.preventDefault());
        one("#side a").click();
    """,
    "the menu and escape": "one('#menu').click(); press('x', document.body); press('Escape', document.body)",
    "the sign of the search": "one('#find').click()",
    "letters": "await type('clock')",
    "an arrow up": "press('ArrowUp')",
    "an arrow down": "press('ArrowDown')",
    "two more": "press('ArrowDown'); press('ArrowDown')",
    "other letters": "await type('The')",
    "all of a group": "all('#hits a').find(hit => hit.textContent.endsWith('▸')).click()",
    "nothing that is there": "await type('xyzzy')",
    "no letters": "await type(' ')",
    "letters and a click beside them": "await type('zone'); one('main p').click()",
    "letters and escape": "await type('zone'); press('Escape')",
    "a key in the box": "box.blur(); press('/', box)",
    "a key with another": "press('/', document.body, { ctrlKey: true }); press('?', document.body, { altKey: true })",
    "the key of the search": "press('/', document.body)",
    "the key of the keys": "press('?', document.body)",
    "their end": "one('dialog button').click()",
    "keys that are taken": """
        const taken = (keys, where) => keys.map(key => `${key} ${press(key, where)}`).join(" ");
        await type("zone");
        let gone = "";
        one("#hits").addEventListener("click", event => {
          event.preventDefault();
          gone += event.target.closest("a").getAttribute("href");
        });
        clipboard = taken(["ArrowDown", "Enter", "x", "Escape", "Enter"], box) + gone;
        clipboard += `, ${taken(["/", "x", "[", "r"], document.body)}`;
    """,
    "a pointer over bytes": "over('mouseover', '.raw [data-field=\"2\"]')",
    "a pointer that leaves": "over('mouseleave', '.drawing')",
    "a copy": "one('main .copy').click()",
    "a copy without a clipboard": """
        navigator.clipboard.writeText = async () => { throw new Error("none"); };
        document.execCommand = what => { clipboard = `${what} ${document.activeElement.value}`; };
        one("main .copy").click();
    """,
    "two seconds": "await new Promise(done => setTimeout(done, 2000))",
    "the other theme": "one('#theme').click()",
    "the first theme": "one('#theme').click()",
    "the theme of another page": """
        localStorage.setItem("theme", "dark");
        document.head.append(Object.assign(document.createElement("script"), { src: "../assets/theme.js" }));
        clipboard = `${all("dialog").length} dialogs`;
    """,
}


def test_what_readers_see_beside_messages(folder: Path, snapshot: SnapshotAssertion) -> None:
    script = f"""
        {TOOLS}
        localStorage.clear();
        const states = [];
        for (const step of [{functions(BESIDE)}]) {{
          await step();
          await soon();
          const parts = all(".top, .drawing, .code, dialog[open]").map(part => part.outerHTML);
          const outer = [document.documentElement, document.body, one("#side")].map(part => part.className);
          const kept = [document.documentElement.dataset.theme, localStorage.getItem("theme")];
          const place = [...outer, ...kept, document.activeElement.id, box.value, clipboard].join("/");
          states.push([place, parts.join("")]);
        }}
        tell({{ states }});
    """
    states = seen(folder, "guide/ticking.html", script)["states"]
    assert "\n".join(told(BESIDE, states)) == snapshot


FILTERED = {
    "": ["- Time keeping Clock - Waking Alarm", "2 of 2", True, "   "],
    "choose('listener', 'controller')": ["- Time keeping Clock", "1 of 2", False, " controller  "],
    "choose('name', 'aLARm')": ["", "none of 2 matches", False, "aLARm controller  "],
    "one('.clear').click()": ["- Time keeping Clock - Waking Alarm", "2 of 2", True, "   "],
    "choose('group', 'waking')": ["- Waking Alarm", "1 of 2", False, "  waking "],
    "choose('group', ''); choose('status', 'stable')": ["- Time keeping Clock", "1 of 2", False, "   stable"],
}


def test_what_filters_leave(folder: Path) -> None:
    """Rows, their number, whether there is nothing to clear, and the filters, after each step."""
    script = f"""
        const choose = (name, value) => {{
          one(`[data-filter=${{name}}]`).value = value;
          one(`[data-filter=${{name}}]`).dispatchEvent(new Event("input", {{ bubbles: true }}));
        }};
        const states = [];
        for (const step of [{functions({step: step for step in FILTERED})}]) {{
          await step();
          const rows = seen(".keys tbody tr").map(row => row.dataset.name ?? `- ${{row.textContent}}`);
          const values = all("[data-filter]").map(filter => filter.value).join(" ");
          states.push([rows.join(" "), one(".shown").textContent, one(".clear").hidden, values]);
        }}
        tell({{ states }});
    """
    assert seen(folder, "index.html", script)["states"] == list(FILTERED.values())


def test_an_anchor_of_kafkas_own_page_leads_to_the_page_of_the_api(folder: Path) -> None:
    text, _ = opened(f"{(folder / 'index.html').as_uri()}#The_Messages_Alarm")
    assert re.findall("<h1>(.*?)</h1>", text) == ["Alarm"]


STYLED = """
.skip; .hide; .top; .brand; span.span; .top .search; #menu; #find; #theme; .columns; .side; .side details; .side li a
.side .listed; .kinds; [aria-current=page]; .key; main; .crumbs; .crumbs a; .title; .chip; .parts; .parts a
.parts a[aria-current]; .bar; .versions; .versions label; .versions label.removed span
.versions label.deprecated span; .versions input; .versions label:has(:checked); .compare; .facts; .sections; .signs
.beside; .example; .fold > summary > h3; .shown; .grammars [data-layout]:not(.shown); .line; .line a; .line.added
.line.changed; .word; .tags; .code; .code .copy; .scroll; .fields table; .fields thead; .fields tbody th
.fields tr.gone.absent; .fields .doc; .meta; .type
.life; .mark; del; .lit; .boxes; .box; .box.tagged; .bytes; .hex; .offset; .hex b.even; .hex b.uneven
.hex b.lit; .spans; .spans thead th; .spans td; .actions; .command; .between; dl; dd; .grid td; .accepted
td.accepted; td.deprecated; td.unstable; td.refused; .matrix; .matrix tbody th; .matrix td; .legend .key; .number
article:not(.current); footer
"""
LOOK = (
    *("display", "position", "overflowX", "whiteSpace", "textAlign", "opacity", "textDecorationLine", "fontStyle"),
    *("fontWeight", "textOverflow", "flexWrap", "borderStyle", "backgroundColor", "color"),
)


def test_what_is_where_on_screens_phones_and_paper(folder: Path, snapshot: SnapshotAssertion) -> None:
    """How the first of each kind of element looks on a screen, and what is other on a phone and on paper."""
    selectors = [one.strip() for one in STYLED.replace("\n", ";").split(";") if one.strip()]
    script = f"""
        document.documentElement.dataset.theme = "light";
        for (const box of all("details")) box.open = true;
        one(".fields tr.gone").classList.remove("absent");
        all(".fields tr")[4].classList.add("absent");
        all(".hex b")[9].dispatchEvent(new PointerEvent("pointerover", {{ bubbles: true }}));
        await soon();
        const look = {list(LOOK)};
        tell({{ found: {selectors}.map(selector => {{
          const found = one(selector);
          return found ? look.map(name => getComputedStyle(found)[name]) : ["none of it"];
        }}) }});
    """
    views = ((folder, 1280), (folder, 500), (printed(folder), 794))
    path = "api/clock.html#request-v2-vs-0"
    screen, *others = (seen(where, path, script, f"--window-size={width},900")["found"] for where, width in views)
    lines = []
    for selector, wide, *rest in zip(selectors, screen, *others, strict=True):
        lines.append(f"{selector}: {', '.join(wide)}")
        for name, found in zip(("phone", "paper"), rest, strict=True):
            changes = [f"{what} {now}" for what, before, now in zip(LOOK, wide, found, strict=False) if now != before]
            lines += [f"  {name}: {', '.join(changes)}"] if changes else []
    assert "\n".join(lines) == snapshot
