"use strict";
// The controls of the page.  Texts of the data are set as textContent, never as HTML.
(() => {
  const at = (id) => document.getElementById(id);
  const seen = (id, yes) => { at(id).hidden = !yes; };
  let bridge = null, about = {}, state = {}, selected = 0, stamp = 0, wanted = null, sent = 0;
  const OFTEN = 5000, SOON = 1500, PATIENCE = 30000;  // milliseconds
  const PAPER = 690;  // pixels across A4 between its margins

  function send(name, values = {}) {
    stamp += 1;
    document.body.dataset.waits = stamp;
    sent = Date.now();
    bridge.command = JSON.stringify({do: name, stamp, ...values});
    setTimeout(() => { if (document.body.dataset.waits) check(); }, SOON);
  }

  // Without a server nothing answers, and nothing would say so.
  async function check() {
    let alive = false;
    try {
      alive = (await fetch("static/js/bokeh.min.js", {method: "HEAD", cache: "no-store"})).ok;
    } catch { /* nobody is there */ }
    const waits = document.body.dataset.waits && Date.now() - sent > PATIENCE;
    seen("gone", !alive || waits);
    if (!alive) {
      at("gone").textContent =
        `The studio has ended: this page can neither save nor change anything. ${state.saved || ""}`;
    } else if (waits) {
      at("gone").textContent = "The studio does not answer; reload the page.";
    }
  }

  function element(tag, text, name) {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (name) made.className = name;
    return made;
  }

  function fill(list, items) { list.replaceChildren(...items); }

  function choices(select, values, texts = values) {
    const before = select.value;
    fill(select, values.map((value, i) => {
      const option = element("option", texts[i]);
      option.value = value;
      return option;
    }));
    if (values.map(String).includes(before)) select.value = before;
  }

  function dropList(list, texts, name) {
    fill(list, texts.map((rule, number) => {
      const item = element("li"), words = element("span", rule.words);
      if (rule.soft) words.textContent += " (soft)";
      if (rule.broken) words.className = rule.missed ? "is-missed" : "is-broken";
      const button = element("button", "Drop");
      button.setAttribute("aria-label", `Drop: ${rule.words}`);
      button.onclick = () => send(name, {number, revision: state.revision});
      item.append(words, button);
      return item;
    }));
  }

  function showAbout() {
    about = JSON.parse(bridge.about);
    at("title").textContent = `${about.title}, ${about.n.toLocaleString("en")} rows`;
    fill(at("notices"), about.notices.map((text) => element("li", text)));
    showFeatures();
    choices(at("shares").elements.column, Object.keys(about.groups));
    seen("shares", Object.keys(about.groups).length);
    showGroups();
    seen("notices", about.notices.length);
  }

  function showAxes() {
    const both = about.numbers.length > 1;
    choices(at("view"), both ? [...about.views, "columns"] : about.views);
    for (const id of ["x", "y"]) choices(at(id), about.numbers);
    if (both) at("y").value = about.numbers[1];
    seen("columns", false);
    choices(at("totals").elements.column, about.numbers);
    seen("totals", about.numbers.length);
  }

  // The columns that are clustered by, and those that could be.
  function showFeatures() {
    const words = {euclidean: "Euclidean", cosine: "cosine", haversine: "on the ground (haversine)"};
    choices(at("metric"), about.metrics, about.metrics.map((name) => words[name]));
    at("metric").value = about.metric;
    fill(at("features"), about.numbers.map((name) => {
      const label = element("label", undefined, "check"), box = element("input");
      box.type = "checkbox";
      box.value = name;
      box.checked = about.features.includes(name);
      label.append(box, name);
      return label;
    }));
  }

  function showGroups() {
    const form = at("shares").elements, groups = about.groups[form.column.value] || [];
    choices(form.group, ["", ...groups], ["each group", ...groups]);
  }

  // A cell with what is allowed below its value.
  function cell(tag, text, note) {
    const made = element(tag, text);
    if (note) made.append(element("small", note));
    return made;
  }

  function showClusters() {
    const {heads, rows, all} = state.clusters;
    seen("table", rows.length);
    seen("key", true);
    seen("sample", state.sample);
    at("sample").textContent = state.sample;
    if (rows.length) {
      const head = element("tr"), foot = element("tr");
      head.append(...[{name: state.answer.mixed ? "Group" : "Cluster"}, ...heads].map(({name, note}) => {
        const made = cell("th", name, note);
        made.scope = "col";
        return made;
      }));
      fill(at("clusters").tHead, [head]);
      fill(at("clusters").tBodies[0], rows.map(showCluster));
      fill(at("clusters").tFoot, [cells(foot, ["all", ...all], "td")]);
    }
    showFurther();
  }

  function showCluster(cluster) {
    const row = element("tr"), first = element("td"), swatch = element("span", cluster.shape, "swatch");
    swatch.style.color = cluster.colour;
    swatch.setAttribute("aria-hidden", "true");
    const button = element("button", cluster.name);
    button.setAttribute("aria-label", `Select the rows of cluster ${cluster.name}`);
    button.onclick = () => send("cluster", {number: cluster.number});
    first.append(swatch, button);
    row.append(first, ...cluster.cells.map(({text, note, broken}) => {
      const made = cell("td", text, note);
      made.classList.toggle("is-broken", broken);
      return made;
    }));
    return row;
  }

  // Says which part of the table is out of sight.
  function showFurther() {
    const place = at("table"), edge = place.getBoundingClientRect();
    const hidden = [...place.querySelectorAll("thead th")].filter((head) => head.getBoundingClientRect().right > edge.right + 1);
    const below = place.scrollHeight - place.clientHeight - place.scrollTop > 1;
    const words = [];
    if (hidden.length) words.push(`${hidden.length} more column${hidden.length > 1 ? "s" : ""} to the right`);
    if (below) words.push("more rows below");
    seen("further", words.length && !place.hidden);
    at("further").textContent = `Scroll the table: ${words.join(", ")}.`;
  }

  // The rings of the rows that changed, unless the switch is off.
  function showRings() {
    const [figure] = Bokeh.documents[0].get_model_by_name("plot").children;
    figure.renderers.find(({name}) => name === "changed").visible = at("rings").checked;
  }

  function showState() {
    if (!bridge.state) return;
    state = JSON.parse(bridge.state);
    const running = state.running !== null;
    at("undo").disabled = !state.can.undo;
    at("redo").disabled = !state.can.redo;
    for (const id of ["labels", "sheets", "report"]) at(id).disabled = !state.answer;
    at("using").textContent = state.using;
    at("kind").value = state.mixed ? "mixed" : "similar";
    at("metric").closest("label").hidden = state.mixed;
    seen("questions", !state.mixed);
    if (document.activeElement !== at("k")) at("k").value = state.n_clusters;
    const numbers = [...Array(Math.min(state.n_clusters, 1000)).keys()];
    choices(at("cluster"), numbers, numbers.map((j) => state.names[j] ?? String(j)));
    at("fit").disabled = running;
    seen("stop", running && state.stoppable);
    seen("progress", running);
    at("message").textContent = running ? state.running : state.message;
    seen("keep", state.keep);
    at("keep-words").textContent = state.keep;
    seen("ground", state.ground);
    at("ground-words").textContent = state.ground;
    seen("saved", state.saved);
    at("saved").textContent = state.saved || "";
    at("saved").classList.toggle("failed", state.unsaved);
    at("message").classList.toggle("failed", state.failed && !running);
    seen("stale", !running && state.answer && state.answer.stale && !state.conflict);
    seen("conflict", state.conflict);
    if (state.conflict) {
      at("sentence").textContent = state.conflict.sentence;
      dropList(at("parts"), state.conflict.parts.map((words) => ({words})), "drop_part");
    }
    seen("broken", state.broken.length && !state.conflict);
    at("h-broken").textContent =
      state.answer && state.answer.stale ? "Not obeyed by the last fit" : "Broken rules";
    fill(at("sentences"), state.broken.map((text) => element("li", text)));
    seen("wishes", state.wishes.length && !state.conflict);
    fill(at("missed"), state.wishes.map((text) => element("li", text)));
    seen("none", !state.rules.length);
    dropList(at("rules"), state.rules, "drop");
    seen("more", state.more_rules);
    at("more").textContent = `and ${state.more_rules} more rules`;
    showClusters();
    showQuestion();
    questions.show(state);
  }

  function cells(row, texts, tag) {
    row.append(...texts.map((text) => element(tag, text)));
    return row;
  }

  function showQuestion() {
    const asked = state.questions;
    at("asked").textContent = asked.words;
    seen("card", asked.card);
    seen("ask", !asked.card);
    at("ask").disabled = asked.busy;
    if (!asked.card) return;
    at("back").hidden = !asked.undo;
    fill(at("sides").tHead, [cells(element("tr"), ["Column", ...asked.card.names], "th")]);
    fill(at("sides").tBodies[0], asked.card.rows.map((row) => cells(element("tr"), row, "td")));
  }

  function showSelection() {
    if (!bridge.selection) return;
    const {count, names, cluster, row} = JSON.parse(bridge.selection);
    const more = count > names.length ? ` and ${(count - names.length).toLocaleString("en")} more` : "";
    at("selection").textContent = count
      ? `${count.toLocaleString("en")} selected: ${names.join(", ")}${more}.`
      : "Nothing is selected.";
    if (cluster !== null) at("cluster").value = cluster;
    selected = count;
    at("together").disabled = at("apart").disabled = count < 2;
    at("pin").disabled = at("clear").disabled = count < 1;
    seen("values", row);
    if (row) fill(at("values").tBodies[0], row.map((pair) => cells(element("tr"), pair, "td")));
  }

  function download(name, text) {
    const link = element("a"), packed = name.endsWith(".xlsx");
    const bytes = packed ? Uint8Array.from(atob(text), (mark) => mark.charCodeAt(0)) : text;
    link.href = URL.createObjectURL(new Blob([bytes]));
    link.download = name;
    link.click();
    URL.revokeObjectURL(link.href);
  }

  function showReply() {
    if (!bridge.reply) return;
    const reply = JSON.parse(bridge.reply);
    if (reply.stamp !== wanted) return;
    wanted = null;
    if (reply.name !== "fit.py") { download(reply.name, reply.text); return; }
    at("lines").textContent = reply.text;
    at("code").showModal();
  }

  // The page shows what the last command led to.
  function showDone() {
    if (bridge.done === String(stamp)) delete document.body.dataset.waits;
  }

  function ask(name) { send(name); wanted = stamp; }

  function values(form) {
    return Object.fromEntries([...form.elements].filter((e) => e.name).map((e) => [e.name, e.value]));
  }

  function weight(box = "soft", field = "weight") {
    return at(box).checked ? {weight: at(field).value} : {};
  }

  function axes() {
    const own = at("view").value === "columns";
    seen("columns", own);
    send("axes", own ? {x: at("x").value, y: at("y").value} : {x: at("view").value});
  }

  function wire() {
    for (const id of ["undo", "redo", "fit", "stop", "clear", "ask"]) at(id).onclick = () => send(id);
    for (const name of ["keep", "ground"]) {
      for (const says of ["yes", "no"]) at(`${name}-${says}`).onclick = () => send(name, {says});
    }
    at("by").onsubmit = (event) => {
      event.preventDefault();
      const chosen = [...at("features").querySelectorAll("input:checked")].map((box) => box.value);
      send("by_columns", {columns: chosen, metric: at("metric").value});
    };
    for (const id of ["save", "labels", "sheets", "report", "python"]) at(id).onclick = () => ask(id);
    at("print").onclick = () => window.print();
    window.addEventListener("beforeprint", () => fitPaper(true));
    window.addEventListener("afterprint", () => fitPaper(false));
    at("kind").onchange = () => send("mixed", {kind: at("kind").value});
    at("rings").onchange = showRings;
    at("table").onscroll = showFurther;
    new ResizeObserver(showFurther).observe(at("table"));
    for (const id of ["same", "different", "unknown"]) {
      at(id).onclick = () => send("reply", {says: id, pair: state.questions.card.pair});
    }
    at("back").onclick = () => send("take_back");
    for (const id of ["together", "apart"]) at(id).onclick = () => send(id, weight());
    for (const id of ["sizes", "totals", "shares"]) {
      at(id).onsubmit = (event) => {
        event.preventDefault();
        send(id, {...values(event.target), ...weight("soft-bounds", "price")});
      };
    }
    for (const id of ["view", "x", "y"]) at(id).onchange = axes;
    at("pin").onclick = () => send("pin", {cluster: at("cluster").value, ...weight()});
    at("find").onsubmit = (event) => {
      event.preventDefault();
      send("find", {text: at("name").value});
      at("name").value = "";
    };
    at("k").onchange = () => send("clusters", {n: at("k").value});
    at("calm").onchange = () => send("calm", {factor: at("calm").value});
    at("shares").elements.column.onchange = showGroups;
    at("load").onclick = () => at("file").click();
    at("file").onchange = async () => {
      const [file] = at("file").files;
      if (file) send("load", {text: await file.text()});
      at("file").value = "";
    };
    // Before Bokeh hears of the gesture, so that the session knows the keys when it does.
    window.addEventListener("pointerup", ({shiftKey, ctrlKey, metaKey}) => {
      bridge.keys = [shiftKey && "shift", (ctrlKey || metaKey) && "ctrl"].filter(Boolean).join(" ");
    }, true);
    document.addEventListener("keyup", (event) => {
      if (event.key === "Escape" && selected && !at("code").open) send("clear");
    });
    at("close").onclick = () => at("code").close();
    at("download").onclick = () => download("fit.py", at("lines").textContent);
    at("copy").onclick = () => navigator.clipboard.writeText(at("lines").textContent);
  }

  // The picture keeps the size that it has on the screen, enlarged or reduced to the width of paper.
  function fitPaper(on) {
    const plot = at("plot"), wide = plot.offsetWidth, high = plot.offsetHeight;
    Object.assign(plot.style, on
      ? {width: `${wide}px`, height: `${high}px`, zoom: PAPER / wide}
      : {width: "", height: "", zoom: ""});
  }

  function begin() {
    const found = window.Bokeh && Bokeh.documents[0];
    bridge = found ? found.get_model_by_name("bridge") : null;
    if (!bridge) { setTimeout(begin, 20); return; }
    const shown = {about: showAbout, state: showState, selection: showSelection, reply: showReply, done: showDone};
    for (const [name, show] of Object.entries(shown)) bridge.properties[name].change.connect(show);
    questions.begin(send);
    showAbout();
    showAxes();
    showState();
    showSelection();
    wire();
    setInterval(check, OFTEN);
    const root = found.get_model_by_name("plot");
    const draw = () => { raster(root.children[0], root.tags[1]); showRings(); };
    const drawn = () => { document.body.dataset.drawn = "yes"; };
    const first = () => { draw(); requestAnimationFrame(drawn); };
    root.properties.children.change.connect(draw);
    if (found.is_idle) first(); else found.idle.connect(first);
  }

  begin();
})();
