"use strict";
// A click on a column's head sorts the rows by it, a second click the other way round.
const key = (row, column) => {
  const cell = row.cells[column];
  return "value" in cell.dataset ? Number(cell.dataset.value) : cell.textContent;
};
const compare = (a, b) => {
  if (typeof a === "string" || typeof b === "string") return String(a).localeCompare(String(b));
  if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
  return a - b;
};
for (const head of document.querySelectorAll(".corral-report thead th")) {
  head.addEventListener("click", () => {
    const falling = head.getAttribute("aria-sort") === "ascending";
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", falling ? "descending" : "ascending");
    const body = head.closest("table").tBodies[0];
    const rows = [...body.rows];
    rows.sort((a, b) => compare(key(a, head.cellIndex), key(b, head.cellIndex)));
    body.append(...(falling ? rows.reverse() : rows));
  });
}
