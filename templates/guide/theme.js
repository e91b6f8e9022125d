// Runs before the page is drawn: the theme of the system, unless another one was chosen before.
(() => {
  let chosen = null;
  try { chosen = localStorage.getItem("theme"); } catch { /* not allowed for this page: follow the system */ }
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const show = () => { document.documentElement.dataset.theme = chosen ?? (dark.matches ? "dark" : "light"); };
  show();
  dark.addEventListener("change", show);
  addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    button.hidden = false;
    button.addEventListener("click", () => {
      chosen = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
      try { localStorage.setItem("theme", chosen); } catch { /* only for this page, then */ }
      show();
    });
  });
})();
