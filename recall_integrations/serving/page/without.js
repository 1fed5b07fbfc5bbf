// What would be found without: untick searches, evidence and rules, and watch the places change.

import { post } from "./api.js";
import { fill, h, say, wide } from "./dom.js";
import { percent } from "./words.js";

const GROUPS = [["arm", "Searches"], ["feature", "Evidence"], ["rule", "Rules and readings"]];
const LEGEND = "Best first. The percentage is how likely a memory answers the question; the bars are what each piece of evidence adds, or takes away (hatched).";
const ALL_MS = 4000; // for finding out what each is worth
const QUICK_MS = 150; // a recall that takes less is tried without each part at once

export class WhatIf {
  constructor(data, request, app, hits) {
    Object.assign(this, { data, request, app, hits, off: new Set(), bars: new Map(), running: null });
    this.summary = h("p", { class: "dim", id: "what-changes" }, LEGEND);
    this.node = h("section", { class: "card whatif", "aria-labelledby": "whatif-title" }, h("header", { class: "head" },
      h("h2", { id: "whatif-title" }, "What if not …"),
      h("p", { class: "dim" }, "Untick something and watch the places change. The bars say how much of the answer hangs on it.")));
    if (!data.parts.length) { this.node.append(h("p", { class: "dim" }, "Nothing had a hand in this answer.")); return; }
    for (const [kind, title] of GROUPS) {
      const parts = data.parts.filter((part) => part.kind === kind);
      if (parts.length) this.node.append(h("fieldset", null, h("legend", null, title), parts.map((part) => this.box(part))));
    }
    this.back = h("button", { type: "button", class: "quiet", disabled: true, onclick: () => this.reset() }, "Put everything back");
    this.measure = h("button", { type: "button", class: "quiet", onclick: () => this.each() }, "Find out what each is worth");
    this.node.append(h("div", { class: "row end" }, this.measure, this.back));
    if (data.timings_ms.total < QUICK_MS && data.hits.length) this.each();
  }

  box(part) {
    const bar = h("span", { class: "meter", "aria-hidden": "true", hidden: true }, h("span", { class: "accent" }));
    const words = h("span", { class: "num dim" });
    this.bars.set(part.key, [bar, words]);
    const input = h("input", { type: "checkbox", checked: true, "data-key": part.key, onchange: () => {
      if (input.checked) this.off.delete(part.key); else this.off.add(part.key);
      this.changed();
    } });
    return h("label", { class: "part" }, input, h("span", { class: "who" }, part.label), bar, words);
  }

  asked() {
    const { query, k, scope, privacy, filters } = this.request;
    const asked = { query, k, privacy, now: this.data.now };
    if (scope) asked.scope = scope;
    if (filters) asked.filters = filters;
    return asked;
  }

  stop() {
    if (this.running) this.running.abort();
  }

  async each() {
    this.measure.hidden = true;
    this.stop();
    this.running = new AbortController();
    try {
      const found = await post("without", { ...this.asked(), budget_ms: ALL_MS }, this.running.signal);
      for (const one of found.without) {
        const [bar, words] = this.bars.get(one.parts[0]) || [];
        if (!bar) continue;
        bar.hidden = !one.reached;
        wide(bar.firstChild, one.effect);
        words.textContent = one.reached ? (one.effect ? percent(one.effect) : "–") : "no time";
        words.parentNode.title = one.summary;
      }
    } catch (error) {
      if (error.name !== "AbortError") this.measure.hidden = false;
    }
  }

  async changed() {
    this.back.disabled = !this.off.size;
    this.stop();
    if (!this.off.size) { this.reset(); return; }
    this.running = new AbortController();
    const { signal } = this.running;
    this.hits.node.setAttribute("aria-busy", "true");
    try {
      const found = await post("without", { ...this.asked(), leave_out: [[...this.off]] }, signal);
      const [one] = found.without;
      if (one.reached) this.hits.draw(one.moves);
      const words = `Without ${one.label}: ${one.summary}.`;
      fill(this.summary, words, one.degraded.length ? ` Not whole: ${one.degraded.map((d) => `${d.stage}: ${d.reason}`).join(", ")}.` : "");
      this.summary.classList.add("told");
      say(words);
    } catch (error) {
      const told = this.app.failed(error);
      if (told) fill(this.summary, told);
    } finally {
      if (!signal.aborted) this.hits.node.removeAttribute("aria-busy");
    }
  }

  reset() {
    this.off.clear();
    this.stop();
    for (const input of this.node.querySelectorAll("input[type=checkbox]")) input.checked = true;
    this.back.disabled = true;
    this.hits.node.removeAttribute("aria-busy");
    this.hits.draw(null);
    this.summary.classList.remove("told");
    fill(this.summary, `Everything is back. ${LEGEND}`);
    say("Everything is back.");
  }
}
