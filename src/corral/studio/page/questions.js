"use strict";
// The questions on the whole page: two large cards, keys, progress, a limit of minutes.
// page.js calls show with each state; texts of the data are set as textContent, never as HTML.
const questions = (() => {
  const at = (id) => document.getElementById(id);
  const MINUTE = 60000, TICK = 5000;  // milliseconds
  const REPLIES = {s: "same", d: "different", " ": "unknown"};
  let send = null, state = null, open = false, began = null, further = false, drawn = "";

  function element(tag, text, name) {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (name) made.className = name;
    return made;
  }

  function turn(on) {
    open = on;
    at("annotate").hidden = !on;
    for (const part of document.querySelectorAll("body > header, body > main, body > .notices")) part.inert = on;
    if (on && state && !state.questions.card && !state.questions.busy && !state.questions.ended) send("ask");
    if (state) draw();
    (on ? at("annotate") : at("large")).focus({preventScroll: true});
  }

  function image(source, fault, name) {
    if (fault) return element("p", fault, "fault");
    const made = element("img");
    made.src = source;
    made.alt = name;
    made.onclick = () => made.classList.toggle("whole");
    made.onerror = () => made.replaceWith(element("p", "This file is not an image that browsers show.", "fault"));
    return made;
  }

  function text(parts, cut) {
    const made = element("p");
    made.append(...parts.map(([words, differs]) => (differs ? element("mark", words) : words)));
    if (cut) made.append(` … (${cut.toLocaleString("en")} more characters)`);
    return made;
  }

  function cards(card) {
    const made = card.names.map((name) => element("div", name, "head"));
    card.lines.forEach((line, number) => {
      for (const side of [0, 1]) {
        const cell = element("div", undefined, "cell");
        cell.classList.toggle("equal", line.same && !line.images);
        cell.classList.toggle("last", number === card.lines.length - 1);
        cell.append(element("small", line.same ? `${line.name} (the same)` : line.name));
        cell.append(line.images
          ? image(line.images[side], line.faults[side], `${line.name} of ${card.names[side]}`)
          : text(line.parts[side], line.cut[side]));
        made.push(cell);
      }
    });
    return made;
  }

  function left() {
    const minutes = state.questions.minutes;
    return minutes === null ? null : minutes - (began === null ? 0 : (Date.now() - began) / MINUTE);
  }

  function far(asked) {
    const words = [`Question ${asked.number}`];
    if (asked.goal) words.push(`${asked.now} of ${asked.goal} answered`);
    const minutes = left();
    if (minutes !== null) {
      words.push(minutes <= 0 ? "time is over" : minutes < 1 ? "less than a minute left" : `${Math.ceil(minutes)} min left`);
    }
    return words.join(" · ");
  }

  // Why nothing is asked now; "" if something is.
  function rest(asked) {
    if (state.conflict) return `${state.conflict.sentence} Take the last answer back, or drop a rule in the studio.`;
    const enough = asked.goal && asked.now >= asked.goal, late = left() !== null && left() <= 0;
    if (!further && (enough || late)) return `${late ? "The time is over" : "That is enough"}: ${asked.words}`;
    if (asked.card) return "";
    if (asked.ended) return asked.words;
    return state.running ? "Choosing the next questions..." : "No question waits.";
  }

  function draw() {
    const asked = state.questions, why = rest(asked);
    if (!why && began === null) began = Date.now();
    at("annotate-far").textContent = far(asked);
    at("annotate-bar").hidden = !asked.goal;
    if (asked.goal) {
      at("annotate-bar").max = asked.goal;
      at("annotate-bar").value = Math.min(asked.now, asked.goal);
    }
    at("annotate-rest").hidden = !why;
    at("annotate-why").textContent = why;
    at("annotate-pair").hidden = Boolean(why);
    const stopped = asked.card && !state.conflict;
    at("annotate-on").hidden = !why || (state.running && !stopped) || asked.ended || Boolean(state.conflict);
    for (const says of Object.values(REPLIES)) at(`annotate-${says}`).disabled = Boolean(why);
    at("annotate-undo").disabled = !asked.undo;
    at("annotate-saved").textContent = state.saved || "";
    at("annotate-saved").classList.toggle("failed", state.unsaved);
    if (document.activeElement !== at("annotate-by")) at("annotate-by").value = asked.by;
    columns(asked);
    const now = JSON.stringify(asked.card);
    if (now !== drawn && asked.card) {
      drawn = now;
      at("annotate-pair").replaceChildren(...cards(asked.card));
      at("annotate-stage").scrollTop = 0;
    }
  }

  function columns(asked) {
    const list = at("annotate-columns");
    if (list.contains(document.activeElement) && list.childElementCount) return;
    list.replaceChildren(...asked.columns.map((name) => {
      const label = element("label", undefined, "check"), box = element("input");
      box.type = "checkbox";
      box.value = name;
      box.checked = asked.shown.includes(name);
      box.onchange = () => {
        const chosen = [...list.querySelectorAll("input:checked")].map((each) => each.value);
        if (chosen.length) send("show", {columns: chosen}); else box.checked = true;
      };
      label.append(box, name);
      return label;
    }));
  }

  function reply(says) {
    const asked = state.questions;
    if (document.body.dataset.waits) return;
    if (says === "undo") {
      if (asked.undo) send("take_back");
    } else if (!rest(asked)) {
      send("reply", {says, pair: asked.card.pair});
    }
  }

  function key(event) {
    if (!open || event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
    const box = event.target.closest("summary, input[type=checkbox]");
    if (event.target.closest("select, input") && !box) return;  // a name is typed
    if (box && event.key === " ") return;
    const says = event.key.toLowerCase() === "u" ? "undo" : REPLIES[event.key.toLowerCase()];
    if (!says) return;
    event.preventDefault();  // or a space would press the button that was clicked last
    if (event.type === "keydown") reply(says);
  }

  function begin(sender) {
    send = sender;
    for (const says of [...Object.values(REPLIES), "undo"]) at(`annotate-${says}`).onclick = () => reply(says);
    for (const type of ["keydown", "keyup"]) document.addEventListener(type, key);
    at("annotate-by").onchange = () => send("by", {name: at("annotate-by").value});
    at("annotate-by").onkeydown = (event) => { if (event.key === "Enter") at("annotate-by").blur(); };
    at("annotate-on").onclick = () => {
      further = true;
      if (state.questions.card) draw(); else send("ask");
    };
    const choice = document.querySelector("#annotate details");
    choice.ontoggle = () => { if (!choice.open) at("annotate-stage").focus({preventScroll: true}); };
    at("annotate-close").onclick = () => turn(false);
    at("large").onclick = () => turn(true);
    setInterval(() => { if (open) draw(); }, TICK);
  }

  function show(now) {
    const first = state === null;
    state = now;
    if (first && now.questions.begins) turn(true); else if (open) draw();
  }

  return {begin, show};
})();
