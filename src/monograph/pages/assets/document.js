"use strict";
// Tables of a document: search, sort; the theme.
const rows = [...document.querySelectorAll("tbody tr")];
const search = document.getElementById("search");
const count = document.getElementById("count");

function section(row) {
  return row.dataset.section && document.getElementById(row.dataset.section);
}

function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const row of rows) {
    const about = section(row);
    const text = (row.textContent + " " + (about ? about.textContent : "")).toLowerCase();
    const fits = words.every((word) => text.includes(word));
    row.hidden = !fits;
    if (about) about.hidden = !fits;
    shown += fits;
  }
  count.textContent = `${shown} of ${rows.length}`;
}

function sort(column, head) {
  const descending = head.getAttribute("aria-sort") === "ascending";
  const body = head.closest("table").tBodies[0];
  const key = (row) => row.cells[column].textContent;
  const order = [...body.rows].sort((a, b) => key(a).localeCompare(key(b), undefined, { numeric: true }));
  if (descending) order.reverse();
  for (const each of head.parentNode.cells) each.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", descending ? "descending" : "ascending");
  body.append(...order);
}

for (const row of rows) {
  const heads = row.closest("table").tHead.rows[0].cells;
  for (const cell of row.cells) cell.dataset.head = heads[cell.cellIndex].textContent;
}
for (const head of document.querySelectorAll("thead th")) {
  head.addEventListener("click", () => sort(head.cellIndex, head));
}
if (search) {
  search.addEventListener("input", filter);
  filter();
}
document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  root.dataset.theme = (root.dataset.theme || system) === "dark" ? "light" : "dark";
});
document.body.dataset.ready = "";
