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
  if (!head.querySelector("button")) continue;
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

// The table of all rows: a search by name or cluster, more rows on a click, and a download.
for (const data of document.querySelectorAll('.corral-report script[type="application/json"]')) {
  const place = data.closest("section");
  const { labels, names, clusters } = JSON.parse(data.textContent);
  const label = (row) => (clusters ? clusters[labels[row]] : String(labels[row]));
  const name = (row) => (names === null ? String(row) : names[row]);
  const [body, search] = [place.querySelector("tbody"), place.querySelector("input")];
  const [more, count] = [place.querySelector(".more"), place.querySelector(".count")];
  const STEP = 50; // rows of a step
  const paper = place.classList.contains("all-rows") ? Infinity : 0; // rows that are printed
  const chip = new Map(); // the colour of each cluster, from the table of the clusters
  for (const cell of document.querySelectorAll(".corral-report td[data-value] > .chip")) {
    chip.set(Number(cell.parentElement.dataset.value), cell.style.background);
  }
  let found = [];
  const show = (from) => {
    for (const row of found.slice(from, from + STEP)) {
      const line = body.insertRow();
      line.insertCell().textContent = name(row);
      const cell = line.insertCell();
      cell.className = clusters ? "named" : "number";
      const mark = document.createElement("span");
      mark.className = "chip";
      mark.style.background = chip.get(labels[row]) || "transparent";
      cell.append(mark, label(row));
    }
    more.hidden = body.rows.length >= found.length;
    const [listed, all] = [body.rows.length, found.length].map((n) => n.toLocaleString("en"));
    count.textContent = more.hidden ? `${all} rows` : `${listed} of ${all} rows`;
  };
  const filter = () => {
    const text = search.value.trim().toLowerCase();
    const cluster = /^cluster\s+(\d+)$/.exec(text);
    found = [];
    for (let row = 0; row < labels.length; row += 1) {
      const own = clusters && text && label(row).toLowerCase() === text;
      const fits = own || (cluster ? labels[row] === Number(cluster[1]) : name(row).toLowerCase().includes(text));
      if (fits) found.push(row);
    }
    body.replaceChildren();
    show(0);
  };
  search.placeholder += clusters ? ", or of a cluster" : ", or cluster 2";
  search.addEventListener("input", filter);
  more.addEventListener("click", () => show(body.rows.length));
  window.addEventListener("beforeprint", () => {
    while (body.rows.length < Math.min(found.length, paper)) show(body.rows.length);
  });
  // Spreadsheets compute cells that begin like formulas, so such names get an apostrophe.
  const safe = (text) => {
    const plain = /^[=+\-@\t\n]/.test(text) && Number.isNaN(Number(text.replace(",", "."))) ? `'${text}` : text;
    return /[",\n\r]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
  };
  place.querySelector(".download").addEventListener("click", () => {
    const lines = labels.map((_, row) => `${safe(name(row))},${safe(label(row))}`);
    const file = new Blob([["id,label", ...lines, ""].join("\n")], { type: "text/csv" });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(file);
    link.download = "labels.csv";
    link.click();
    URL.revokeObjectURL(link.href);
  });
  filter();
}
