"use strict";
(() => {
  const table = document.getElementById("rollouts");
  if (!table) return;
  const body = table.tBodies[0], rows = [...body.rows], heads = [...table.tHead.rows[0].cells];
  const find = document.getElementById("find"), only = document.getElementById("only");
  const texts = new Map(rows.map(row => [row, row.textContent.toLowerCase()]));
  let sorted = null, down = false;
  const remember = () => {
    const parts = [];
    if (sorted) parts.push("sort=" + (down ? "-" : "") + encodeURIComponent(sorted.dataset.k));
    if (find.value) parts.push("find=" + encodeURIComponent(find.value));
    if (only.checked) parts.push("only=1");
    history.replaceState(null, "", "#" + parts.join("&"));
  };
  const sort = (head, reverse) => {
    const at = heads.indexOf(head), words = ["word", "text"].includes(head.dataset.t);
    const key = new Map(rows.map(row => {
      const held = row.cells[at].dataset.v;
      return [row, held === undefined ? null : words ? held : Number(held)];
    }));
    const compare = (a, b) => words ? a.localeCompare(b, "en", {numeric: true}) : a - b;
    const order = [...rows].sort((a, b) => {
      const x = key.get(a), y = key.get(b);
      if (x === null || y === null) return (x === null) - (y === null);
      return reverse ? compare(y, x) : compare(x, y);
    });
    body.append(...order);
    for (const other of heads) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", reverse ? "descending" : "ascending");
    sorted = head;
    down = reverse;
  };
  const filter = () => {
    const wanted = find.value.toLowerCase();
    let shown = 0;
    for (const row of rows) {
      row.hidden = !texts.get(row).includes(wanted) ||
        (only.checked && !row.classList.contains("fooled"));
      shown += !row.hidden;
    }
    document.getElementById("shown").textContent = shown + " of " + rows.length + " rows";
  };
  for (const head of heads) head.firstElementChild.addEventListener("click", () => {
    sort(head, head === sorted && !down);
    remember();
  });
  find.form.addEventListener("submit", event => event.preventDefault());
  for (const input of [find, only]) input.addEventListener("input", () => { filter(); remember(); });
  const load = () => {
    const state = new URLSearchParams(location.hash.slice(1));
    const wanted = state.get("sort") || "", name = wanted.replace(/^-/, "");
    const head = heads.find(head => head.dataset.k === name);
    if (head) sort(head, wanted !== name);
    find.value = state.get("find") || "";
    only.checked = state.get("only") === "1";
    filter();
  };
  addEventListener("hashchange", load);
  load();
})();
