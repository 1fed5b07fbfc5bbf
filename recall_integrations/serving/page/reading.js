// How a question was read and what was done about it: marks, features, rules, searches on a time axis.

import { cut, h, points, svg, theirs, wide } from "./dom.js";
import { FEATURES, ROLES, RULES, arm, count, day, ms, percent, plain } from "./words.js";

// -- the question, marked --------------------------------------------------------------------------------------------

function marked(data) {
  const text = points(data.query);
  const pieces = [];
  let at = 0;
  for (const mark of data.marks) {
    if (mark.start > at) pieces.push(cut(text, at, mark.start));
    const [label] = ROLES[mark.role] || [mark.role];
    const small = mark.role === "stop";
    pieces.push(h("mark", { class: `role ${mark.role}` }, theirs(cut(text, mark.start, mark.end)),
      small ? "" : h("span", { class: "label" }, h("span", { class: "unseen" }, " ("), label, h("span", { class: "unseen" }, ")"))));
    at = mark.end;
  }
  if (at < text.length) pieces.push(cut(text, at, text.length));
  if (data.query_cut) pieces.push(" …");
  return h("p", { class: "question", dir: "auto" }, pieces.length ? pieces : h("em", { class: "dim" }, "The question is not shown."));
}

function legend(data) {
  const there = Object.keys(ROLES).filter((role) => data.marks.some((mark) => mark.role === role));
  return h("ul", { class: "legend", "aria-label": "What the marks mean" }, there.map((role) =>
    h("li", null, h("span", { class: `role swatch ${role}`, "aria-hidden": "true" }, ROLES[role][0]), ` ${ROLES[role][1]}`)));
}

function facts(data) {
  const { parsed } = data;
  const rows = [];
  for (const entity of parsed.entities) {
    if (entity.stage === "implicit") continue; // who asks
    if (entity.mention || entity.name) rows.push(["name", [theirs(entity.mention || entity.name), entity.name && entity.name !== entity.mention ? [" is ", theirs(entity.name)] : "", ` (${percent(entity.confidence)} sure)`]]);
  }
  if (parsed.window) rows.push(["time", `from ${day(parsed.window.start, true) || "the beginning"} until ${day(parsed.window.end, true) || "now and later"} (${percent(parsed.window.confidence)} sure)`]);
  if (parsed.session && parsed.session.found) rows.push(["talk", parsed.session.found]);
  if (parsed.negations.length) rows.push(["left out", theirs(parsed.negations.join(", "))]);
  for (const fix of parsed.corrections) rows.push(["spelling", [theirs(fix.word), " is also read as ", theirs(fix.spelling)]]);
  if (parsed.type_hints.length) rows.push(["type", parsed.type_hints.join(", ")]);
  if (parsed.identifiers.length) rows.push(["id", theirs(parsed.identifiers.map((one) => one.text).join(", "))]);
  const searched = data.tokens.filter((one) => !one.roles.some((role) => role === "stop" || role === "negated")).map((one) => one.text);
  rows.push(["words", parsed.terms.length && searched.length ? theirs(searched.join(" · ")) : "no word: only meaning, names and times"]);
  return h("dl", { class: "facts" }, rows.map(([name, what]) => [h("dt", null, name), h("dd", null, what)]));
}

export function readings(data) {
  return h("div", { class: "read" }, h("div", null, marked(data), legend(data)), facts(data));
}

// -- how specific ----------------------------------------------------------------------------------------------------

export function features(data) {
  const { features: values, specificity } = data.parsed;
  const { weights, exploratory_below: low, precise_from: high } = data.knobs;
  const rows = Object.entries(FEATURES).map(([name, [label, hint]]) => h("tr", null,
    h("th", { scope: "row", title: hint }, label),
    h("td", { class: "grow" }, h("span", { class: "meter", "aria-hidden": "true" }, wide(h("span", { class: `f-${name}` }), values[name]))),
    h("td", { class: "num" }, values[name].toFixed(2)),
    h("td", { class: "num dim" }, `× ${weights[name]}`),
    h("td", { class: "num" }, (values[name] * weights[name]).toFixed(3))));
  let at = 0;
  const width = 300;
  const parts = Object.keys(FEATURES).map((name) => {
    const size = values[name] * weights[name] * width;
    const part = svg("rect", { x: at, y: 8, width: Math.max(0, size), height: 12, class: `f-${name}` });
    at += size;
    return part;
  });
  const line = (value, text, anchor) => [
    svg("line", { x1: value * width, x2: value * width, y1: 3, y2: 25, class: "threshold" }),
    svg("text", { x: value * width, y: 37, "text-anchor": anchor }, text)];
  const scale = svg("svg", { viewBox: `0 0 ${width} 42`, class: "scale", role: "img", "aria-label": `Specificity ${specificity.toFixed(2)}; broad below ${low}, exact from ${high} on.` },
    svg("rect", { x: 0, y: 8, width, height: 12, rx: 3, class: "track" }), parts,
    line(low, `broad below ${low}`, "middle"), line(high, `exact from ${high}`, "middle"));
  return [
    h("table", { class: "plain" }, h("caption", { class: "unseen" }, "What makes the question specific"),
      h("thead", { class: "unseen" }, h("tr", null, ["what", "bar", "value", "weight", "adds"].map((t) => h("th", { scope: "col" }, t)))),
      h("tbody", null, rows),
      h("tfoot", null, h("tr", null, h("th", { scope: "row", colspan: "4" }, "specificity"), h("td", { class: "num" }, h("strong", null, specificity.toFixed(3)))))),
    scale];
}

// -- rules -----------------------------------------------------------------------------------------------------------

export function rules(data) {
  const chosen = data.rules.findIndex((rule) => rule.fired);
  const near = (margin) => (margin === null ? "" : margin >= 0 ? `${margin.toFixed(2)} to spare` : `${Math.abs(margin).toFixed(2)} short`);
  return h("ol", { class: "rules" },
    data.rules.map((rule, i) => h("li", { class: `${rule.fired ? "pass" : "fail"}${i === chosen ? " chosen" : ""}` },
      h("span", { class: "sign", "aria-hidden": "true" }, rule.fired ? "✓" : "✕"),
      h("span", null,
        h("strong", null, RULES[rule.rule] || plain(rule.rule)),
        h("span", { class: "verdict" }, i === chosen ? "decides" : rule.fired ? "would pass, too late" : "fails"),
        h("span", { class: "because" }, theirs(rule.because))),
      h("span", { class: "num dim" }, near(rule.margin)))),
    data.runner_up ? h("li", { class: "runner" }, h("span", null), h("span", { class: "dim" }, `Nearest other: ${plain(data.runner_up.plan)}${data.runner_up.margin === null ? "" : `, ${data.runner_up.margin.toFixed(2)} away`}`)) : "");
}

// -- searches on a time axis -----------------------------------------------------------------------------------------

/** Two or three places, so far apart that their labels are read whole on a narrow screen. */
function ticks(from, until) {
  const most = (until - from) * 0.88;
  const unit = 10 ** Math.floor(Math.log10(most || 1));
  const step = [5, 2, 1].map((n) => n * unit).find((n) => n <= most) || most;
  const found = [];
  for (let at = Math.ceil(from / step) * step; at <= from + most && found.length < 3; at += step) found.push(at);
  return found;
}

function bar(began, took, [from, until], cls) {
  const node = h("span", { class: `run ${cls}` });
  const share = (value) => Math.max(0, Math.min(1, value / (until - from))) * 100;
  node.style.insetInlineStart = `${share(began - from)}%`;
  node.style.inlineSize = `${Math.max(0.6, share(took))}%`;
  return node;
}

function axisRow(name, hint, bars, words, cls) {
  return h("div", { class: `lane ${cls || ""}` }, h("span", { class: "who", title: hint }, name), h("span", { class: "track", "aria-hidden": "true" }, bars), h("span", { class: "num" }, words));
}

function axis([from, until]) {
  const found = ticks(from, until);
  const step = found.length > 1 ? found[1] - found[0] : 1;
  return h("div", { class: "lane ticks", "aria-hidden": "true" }, h("span", { class: "who" }), h("span", { class: "track" },
    found.map((at, i) => {
      const label = step < 1 ? `${at.toFixed(1)} ms` : ms(at); // neighbours differ
      const tick = h("span", { class: "tick" }, i < found.length - 1 ? label.replace(" ms", "") : label);
      tick.style.insetInlineStart = `${((at - from) / (until - from)) * 100}%`;
      return tick;
    })), h("span", { class: "num" }));
}

function total(data) {
  const ends = [...data.axis.stages, ...data.axis.arms].map((one) => (one.began_ms || 0) + (one.took_ms || 0));
  return Math.max(data.timings_ms.total || 0, ...ends, 0.1);
}

/** From the first search until the last one ended, with some room: they are a part of the whole. */
function searching(data) {
  const ran = data.axis.arms.filter((one) => one.asked && one.took_ms !== null);
  if (!ran.length) return [0, total(data)];
  const from = Math.min(...ran.map((one) => one.began_ms));
  const until = Math.max(...ran.map((one) => one.began_ms + one.took_ms));
  const room = Math.max((until - from) * 0.08, 0.05);
  return [Math.max(0, from - room), until + room];
}

export function arrivals(data) {
  const whole = searching(data);
  const lanes = data.axis.arms.map((one) => {
    const words = !one.asked ? (one.failed ? "failed" : "not asked")
      : one.failed ? "failed" : one.found === null ? ms(one.took_ms) : `${one.found} in ${ms(one.took_ms)}`;
    const hint = one.why || (one.asked ? one.note : "The question gave it nothing to look for.");
    return [axisRow(arm(one.name).replace("search ", ""), hint, one.asked ? bar(one.began_ms, one.took_ms || 0, whole, one.failed ? "bad" : `a-${one.name}`) : [], words, one.asked ? "" : "off"),
      one.failed ? h("p", { class: "callout warn" }, one.why) : ""];
  });
  const used = data.timings_ms.total / data.axis.deadline_ms;
  return [
    h("div", { class: "lanes", role: "group", "aria-label": "Searches in time" }, lanes, axis(whole)),
    h("p", { class: "deadline" }, h("span", { class: "meter", "aria-hidden": "true" }, wide(h("span", { class: used > 0.9 ? "bad" : "accent" }), Math.max(0.005, used))), `${percent(used)} of the deadline`)];
}

export function speeds(data) {
  const whole = [0, total(data)];
  return h("div", { class: "lanes", role: "group", "aria-label": "Steps in time" },
    data.axis.stages.map((one) => axisRow(one.label, "", bar(one.began_ms, one.took_ms || 0, whole, one.failed ? "bad" : "accent"), ms(one.took_ms), one.failed ? "failed" : "")),
    axis(whole));
}

export function arms(data) {
  return data.axis.arms.map((one) => [arm(one.name), one.asked ? "yes" : "no", ms(one.began_ms), ms(one.took_ms), one.found === null ? "–" : String(one.found), one.failed ? `failed: ${one.why}` : one.note || ""]);
}

export function said(data) {
  return count(data.hits.length, "memory", "memories");
}
