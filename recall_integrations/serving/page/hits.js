// The memories that were found: each with its score, its reason, what every piece of evidence added, and its moves.

import { post } from "./api.js";
import { cut, fill, h, points, say, theirs, wide } from "./dom.js";
import { openMemory } from "./memory.js";
import { ARMS, arm, day, evidence, percent, place, signed } from "./words.js";

const SHOWN = 420; // characters of a long memory, until it is asked for
const MOST = 20000; // characters that are ever put on the page
const BARS = 5;
const KINDS = { word: "a word of the question", near: "a word near in meaning", name: "a name that is asked for", time: "a time that is asked for" };

/** The text with what speaks for it marked. */
function textOf(hit, whole) {
  const text = points(hit.memory.text);
  const places = (hit.highlights || []).filter((one) => KINDS[one.kind] && one.start < one.end).sort((a, b) => a.start - b.start);
  const first = places.length ? Math.max(0, places[0].start - 120) : 0;
  const start = whole || text.length <= SHOWN ? 0 : first;
  const end = Math.min(text.length, start + (whole ? MOST : SHOWN));
  const pieces = start ? ["… "] : [];
  let at = start;
  for (const one of places) {
    if (one.start < at || one.end > end) continue;
    pieces.push(cut(text, at, one.start), h("mark", { class: `hit ${one.kind}`, title: one.of ? `${KINDS[one.kind]}: ${one.of}` : KINDS[one.kind] }, cut(text, one.start, one.end)));
    at = one.end;
  }
  pieces.push(cut(text, at, end));
  if (end < text.length) pieces.push(" …");
  return { pieces, long: text.length > SHOWN, length: text.length };
}

function body(hit, app) {
  if (!hit.memory.text) return h("p", { class: "dim" }, "The text is not shown.");
  const node = h("p", { class: "text", dir: "auto" });
  const shown = textOf(hit, false);
  fill(node, ...shown.pieces);
  if (!shown.long) return node;
  const more = h("button", { type: "button", class: "link", "aria-expanded": "false", onclick: () => {
    const open = more.getAttribute("aria-expanded") === "false";
    fill(node, ...textOf(hit, open).pieces);
    more.setAttribute("aria-expanded", String(open));
    more.textContent = open ? "Show less" : `Show more of ${shown.length.toLocaleString("en")} characters`;
  } }, `Show more of ${shown.length.toLocaleString("en")} characters`);
  return [node, more];
}

function meta(hit, open) {
  const { memory } = hit;
  return h("p", { class: "meta" },
    memory ? [h("span", { class: `badge t-${memory.type}` }, memory.type),
      memory.actor ? theirs(memory.actor) : "", memory.channel ? theirs(`in ${memory.channel}`) : "",
      memory.event_at ? h("time", { datetime: memory.event_at }, day(memory.event_at)) : ""] : "",
    open, h("code", { class: "short", title: hit.id }, theirs(hit.id)));
}

/** Which searches brought it, and at which place of their lists it stood. */
function found(hit) {
  const arms = hit.contributions.filter((one) => ARMS[one.source] && one.rank);
  if (!arms.length) return "";
  return h("p", { class: "found" }, h("span", { class: "dim" }, "found by"), arms.map((one) =>
    h("span", { class: `chip a-${one.source}` }, `${arm(one.source).replace("search by ", "")} `, h("strong", null, place(one.rank)))));
}

/** Whether it helped, said by the reader: what learning takes in (docs/learning.md). */
function judged(hit, result, app) {
  if (!app.writes || !result) return "";
  const place = h("p", { class: "meta", role: "group", "aria-label": `Did ${hit.id} help?` });
  const give = (label, kind, words) => h("button", { type: "button", class: "link", onclick: async () => {
    try {
      await post("../feedback", { result_id: result, scope: app.asked().scope, [kind]: [hit.id] });
      fill(place, h("span", { class: "dim" }, words));
      say(words);
    } catch (error) {
      fill(place, app.failed(error));
    }
  } }, label);
  return fill(place, give("It helped", "helpful", "Noted: it helped."), give("Not about it", "wrong", "Noted: it is not about the question."));
}

function contributions(hit) {
  const every = hit.contributions.filter((one) => Math.abs(one.added || 0) >= 0.005);
  if (!every.length) return "";
  const most = Math.max(...every.map((one) => Math.abs(one.added)));
  const row = (one) => h("li", null,
    h("span", { class: "who", title: one.name || "" }, evidence(one)),
    h("span", { class: `meter${one.added < 0 ? " minus" : ""}`, "aria-hidden": "true" }, wide(h("span"), Math.abs(one.added) / most)),
    h("span", { class: "num" }, signed(one.added)));
  const rest = every.slice(BARS);
  return [h("ul", { class: "bars", "aria-label": "What each piece of evidence added to it" }, every.slice(0, BARS).map(row)),
    rest.length ? h("details", { class: "rest" }, h("summary", null, `${rest.length} more`), h("ul", { class: "bars" }, rest.map(row))) : ""];
}

function reasons(hit) {
  const parts = hit.reason.split("; ").filter(Boolean);
  return parts.length ? h("ul", { class: "reasons", "aria-label": "Why it is here" }, parts.map((part) => h("li", null, theirs(part)))) : "";
}

/** How it moved: words, and an arrow for the eye. */
function moved(move) {
  if (!move) return "";
  if (!move.hit_before) return h("span", { class: "move up" }, "↑ comes in", move.before ? `, was ${place(move.before)}` : "");
  if (!move.hit_after) return h("span", { class: "move down" }, "↓ leaves", move.after ? `, now ${place(move.after)}` : ", not found any more");
  if (move.before === move.after) return h("span", { class: "move same" }, "= stays");
  const up = move.after < move.before;
  return h("span", { class: `move ${up ? "up" : "down"}` }, `${up ? "↑" : "↓"} ${move.before} → ${move.after}`);
}

export class Hits {
  constructor(data, app) {
    this.app = app;
    this.base = data.hits;
    this.result = data.id;
    this.cards = new Map();
    this.node = h("ol", { class: "hits" });
    this.draw(null);
  }

  card(hit, number, move) {
    const bars = hit.contributions ? contributions(hit) : "";
    const open = h("button", { type: "button", class: "link", "aria-label": `Open ${hit.id} and what is around it`, onclick: () => openMemory(this.app, hit.id) }, "around it");
    return h("li", { class: `hit${move && !move.hit_after ? " gone" : ""}`, "data-id": hit.id },
      h("div", { class: "rank" }, h("span", { class: "unseen" }, "Place "), move && !move.hit_after ? "–" : String(number)),
      h("div", { class: "what" },
        moved(move),
        hit.memory ? body(hit, this.app) : h("p", { class: "text", dir: "auto" }, hit.text || h("span", { class: "dim" }, "The text is not shown.")),
        hit.reason ? reasons(hit) : "", hit.contributions ? found(hit) : "", move ? "" : judged(hit, this.result, this.app), meta(hit, open)),
      h("div", { class: "why" },
        hit.score === null || hit.score === undefined ? "" : h("p", { class: "score" }, h("strong", null, percent(hit.score)), h("span", { class: "dim" }, " likely relevant")), bars));
  }

  /** Draw the hits as they are, or as they would be: `moves` of the counterfactual. */
  draw(moves) {
    const before = new Map([...this.node.children].map((node) => [node.dataset.id, node.getBoundingClientRect().top]));
    const known = new Map(this.base.map((hit) => [hit.id, hit]));
    if (!moves) {
      fill(this.node, this.base.map((hit, i) => this.card(hit, i + 1, null)));
    } else {
      const there = moves.filter((move) => move.hit_after).sort((a, b) => a.after - b.after);
      const gone = moves.filter((move) => !move.hit_after);
      fill(this.node, [...there, ...gone].map((move) => this.card(
        { ...(known.get(move.id) || { id: move.id, text: move.text }), score: move.hit_after ? move.score_after : move.score_before }, move.after, move)));
    }
    this.slide(before);
  }

  /** Cards glide from where they were, unless less motion is wanted. */
  slide(before) {
    if (!before.size || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    for (const node of this.node.children) {
      const old = before.get(node.dataset.id);
      const by = old === undefined ? 12 : old - node.getBoundingClientRect().top;
      if (by) node.animate([{ transform: `translateY(${by}px)`, opacity: old === undefined ? 0 : 1 }, { transform: "none", opacity: 1 }], { duration: 220, easing: "ease-out" });
    }
  }
}
