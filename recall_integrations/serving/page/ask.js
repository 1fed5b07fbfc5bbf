// Ask a question and see what is made of it.

import { post } from "./api.js";
import { arrivals, features, readings, rules, speeds } from "./reading.js";
import { fill, h, say } from "./dom.js";
import { Hits } from "./hits.js";
import { everything } from "./tables.js";
import { WhatIf } from "./without.js";
import { PLANS, count, ms, percent, plain } from "./words.js";

let kept = { query: "", k: "5", now: "", types: "", actors: "" }; // while another view is shown

function listed(text) {
  return text.split(",").map((part) => part.trim()).filter(Boolean);
}

/** The arguments of a recall that the form says. */
function request(app) {
  const asked = { query: kept.query, k: Number(kept.k), ...app.asked() };
  if (!asked.scope) delete asked.scope;
  if (kept.now) asked.now = kept.now;
  const filters = {};
  if (listed(kept.types).length) filters.types = listed(kept.types);
  if (listed(kept.actors).length) filters.actors = listed(kept.actors);
  if (Object.keys(filters).length) asked.filters = filters;
  return asked;
}

function form(ask) {
  const bind = (name, props) => h("input", { ...props, value: kept[name], oninput: (event) => { kept[name] = event.target.value; } });
  return h("form", { class: "asking", role: "search", onsubmit: (event) => { event.preventDefault(); ask(); } },
    h("div", { class: "bar" },
      h("label", { class: "unseen", for: "query" }, "Your question"),
      bind("query", { id: "query", type: "text", dir: "auto", placeholder: "Ask the memories something …", autocomplete: "off", maxlength: "32768", required: true, "aria-keyshortcuts": "/" }),
      h("kbd", { "aria-hidden": "true" }, "/"),
      h("label", { class: "field inline" }, h("span", null, "Hits"),
        h("select", { onchange: (event) => { kept.k = event.target.value; } },
          ["3", "5", "10", "20"].map((n) => { const o = h("option", { value: n }, n); o.selected = n === kept.k; return o; }))),
      h("button", { type: "submit", class: "main" }, "Ask")),
    h("details", { class: "more", open: Boolean(kept.now || kept.types || kept.actors) }, h("summary", null, "Filters and time"),
      h("div", { class: "fields" },
        h("label", { class: "field" }, h("span", null, "Only these types"), bind("types", { placeholder: "fact, event" })),
        h("label", { class: "field" }, h("span", null, "Only by"), bind("actors", { placeholder: "Priya, Sam" })),
        h("label", { class: "field" }, h("span", null, "“Now” is"), bind("now", { placeholder: "2026-04-20T09:00:00+00:00" })))));
}

function empty() {
  const step = (title, text) => h("li", null, h("strong", null, title), h("span", null, text));
  return h("section", { class: "card welcome" },
    h("h2", null, "Why was that returned?"),
    h("p", null, "Ask a question as you would ask a colleague. You will see:"),
    h("ol", { class: "steps" },
      step("How it was read", "which words are names, times, rare words, or are to be left out"),
      step("Where it was looked for", "by words, by meaning, by names, by time, and how long each took"),
      step("What was found", "with a score, a reason, and what each piece of evidence added"),
      step("What hangs on what", "take a search or a rule away and watch the places change")));
}

/** One sentence that a newcomer can repeat. */
function story(data) {
  const asked = data.axis.arms.filter((one) => one.asked);
  const why = PLANS[data.plan] || plain(data.plan);
  const parts = [
    h("p", { class: "story" },
      h("span", { class: "badge accent" }, plain(data.plan)), " ",
      why[0].toUpperCase() + why.slice(1), ". ",
      `${count(asked.length, "search", "searches")} in ${ms(data.timings_ms.total)}`,
      data.cache.strategy === "hit" ? ", from an answer that was kept" : "",
      data.hits.length ? `; ${percent(data.confidence)} sure that something relevant is among them.` : data.searched ? "; nothing was found." : "; nothing could be searched yet."),
  ];
  const told = [...data.degraded.map((d) => ["warn", `${plain(d.stage)}: ${plain(d.reason)}`, d.detail]),
    ...data.notes.map((n) => ["note", plain(n.reason), n.detail])];
  for (const [kind, what, detail] of told) {
    parts.push(h("p", { class: `callout ${kind}` }, h("strong", null, kind === "warn" ? "Not whole. " : "Note. "), `${what}. `, detail));
  }
  if (data.rewrite.used) parts.push(h("p", { class: "callout note" }, h("strong", null, "Other words. "), `A language model gave other words for it: ${data.parsed.rewrites.join("; ")}`));
  if (data.rerank && data.rerank.used) parts.push(h("p", { class: "callout note" }, h("strong", null, "Reranked. "), `${data.rerank.reranker} read ${data.rerank.scored} of the memories with the question, and ${count(data.rerank.moved, "place")} changed.`));
  return parts;
}

function panel(title, hint, ...content) {
  return h("section", { class: "card" }, h("header", { class: "head" }, h("h2", null, title), hint ? h("p", { class: "dim" }, hint) : ""), ...content);
}

function shown(place, data, request, app) {
  const hits = new Hits(data, app);
  const whatIf = new WhatIf(data, request, app, hits);
  fill(place,
    panel("How it was read", null, readings(data), story(data)),
    h("div", { class: "two" },
      h("section", { class: "card", "aria-labelledby": "hits-title" },
        h("header", { class: "head" }, h("h2", { id: "hits-title" }, count(data.hits.length, "memory", "memories")), whatIf.summary),
        hits.node),
      h("div", { class: "side" },
        panel("Where it was looked for", `${ms(data.timings_ms.total)} of the ${ms(data.axis.deadline_ms)} that it may take`, arrivals(data)),
        whatIf.node)),
    h("div", { class: "three" },
      panel("How specific it is", "the more specific, the narrower the search", features(data)),
      panel("Which rule decided", "the first that passes", rules(data)),
      panel("Where the time went", null, speeds(data))),
    everything(data));
  say(`${count(data.hits.length, "memory", "memories")} found in ${ms(data.timings_ms.total)}. ${data.hits.length ? `First: ${data.hits[0].memory.text.slice(0, 200) || data.hits[0].id}` : ""}`);
  return whatIf;
}

let last = null; // the answer that is shown, so that coming back shows it again

export function askView(main, app) {
  const place = h("div", { class: "answer" });
  let running = null;
  let whatIf = null;

  const ask = async () => {
    if (!kept.query.trim()) return;
    if (running) running.abort();
    running = new AbortController();
    const { signal } = running;
    if (whatIf) whatIf.stop();
    place.setAttribute("aria-busy", "true");
    const asked = request(app);
    try {
      const data = await post("recall", asked, signal);
      last = { data, asked };
      whatIf = shown(place, data, asked, app);
    } catch (error) {
      const told = app.failed(error);
      if (told) fill(place, told);
    } finally {
      if (!signal.aborted) place.removeAttribute("aria-busy");
    }
  };

  fill(main, h("h1", { class: "unseen" }, "Ask"), form(ask), place);
  if (app.given.query) { kept = { ...kept, query: app.given.query }; document.getElementById("query").value = kept.query; }
  const same = last && last.asked.scope === request(app).scope && last.asked.privacy === request(app).privacy;
  if (app.given.query || (last && (!same || app.given.again))) ask();
  else if (last) whatIf = shown(place, last.data, last.asked, app);
  else fill(place, empty());
  if (app.given.focus) document.getElementById("query").focus();
  app.given = {};
  return () => { if (running) running.abort(); if (whatIf) whatIf.stop(); };
}
