"use strict";
const rows = [...document.querySelectorAll("tbody tr")];
const search = document.getElementById("search");
const count = document.getElementById("count");

function text(row) {
  const section = document.getElementById(row.dataset.section);
  return (row.textContent + " " + section.textContent).toLowerCase();
}

function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const row of rows) {
    const fits = words.every((word) => text(row).includes(word));
    row.hidden = !fits;
    document.getElementById(row.dataset.section).hidden = !fits;
    shown += fits;
  }
  count.textContent = `${shown} of ${rows.length}`;
}

function sort(column, head) {
  const descending = head.getAttribute("aria-sort") === "ascending";
  const key = (row) => row.cells[column].textContent;
  rows.sort((a, b) => key(a).localeCompare(key(b), undefined, { numeric: true }));
  if (descending) rows.reverse();
  for (const each of head.parentNode.cells) each.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", descending ? "descending" : "ascending");
  const body = document.querySelector("tbody");
  for (const row of rows) body.append(row);
}

if (search) {
  search.addEventListener("input", filter);
  document.querySelectorAll("th").forEach((head, column) => {
    head.addEventListener("click", () => sort(column, head));
  });
  filter();
}
