"use strict";
// Bytes and fields of one span light up together; a click keeps them.
for (const section of document.querySelectorAll("section")) {
  const parts = new Map();
  for (const part of section.querySelectorAll("[data-span]")) {
    if (part.dataset.span === "-1") continue;
    parts.set(part.dataset.span, [...(parts.get(part.dataset.span) ?? []), part]);
    if (part.localName === "b") part.classList.add(part.dataset.span % 2 ? "uneven" : "even");
  }
  let lit = [];
  let kept = false;
  const light = target => {
    for (const part of lit) part.classList.remove("lit");
    lit = parts.get(target?.closest?.("[data-span]")?.dataset.span) ?? [];
    for (const part of lit) part.classList.add("lit");
  };
  section.addEventListener("pointerover", event => { if (!kept) light(event.target); });
  section.addEventListener("pointerleave", () => { if (!kept) light(null); });
  section.addEventListener("focusin", event => { if (!kept) light(event.target); });
  section.addEventListener("click", event => {
    if (event.target.closest("a")) return;
    kept = Boolean(event.target.closest("[data-span]")) && !kept;
    light(event.target);
  });
}
