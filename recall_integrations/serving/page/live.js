// What is going on: the last five minutes, asked again every other second while somebody looks.

import { get } from "./api.js";
import { fill, h, room, svg, table, wide } from "./dom.js";
import { BREAKERS, count, ms, percent, plain } from "./words.js";

const EVERY_MS = 2000;
const WIDTH = 600;
const HEIGHT = 110;

function tile(name, value, hint) {
  return h("div", { class: "tile" }, h("dt", null, name), h("dd", null, h("strong", null, value), hint ? h("span", { class: "dim" }, hint) : ""));
}

function spark(data) {
  const width = room(WIDTH);
  const most = Math.max(...data.points.map((point) => point.p95_ms || 0), 1);
  const step = width / (data.points.length - 1);
  const line = (key) => {
    let path = "";
    let pen = false;
    data.points.forEach((point, i) => {
      if (point[key] === null) { pen = false; return; }
      path += `${pen ? "L" : "M"}${(i * step).toFixed(1)} ${(HEIGHT - 4 - (point[key] / most) * (HEIGHT - 16)).toFixed(1)}`;
      if (!pen && (i + 1 === data.points.length || data.points[i + 1][key] === null)) path += "h2";
      pen = true;
    });
    return svg("path", { d: path, class: key });
  };
  const busiest = Math.max(...data.points.map((point) => point.count), 1);
  const bars = data.points.map((point, i) => svg("rect", { x: i * step - 3, width: Math.min(6, step * 0.7), y: HEIGHT - (point.count / busiest) * 24, height: (point.count / busiest) * 24, class: "count" }));
  return svg("svg", { viewBox: `-4 0 ${width + 8} ${HEIGHT + 18}`, class: "spark", role: "img", "aria-label": `Time of a recall over five minutes: half of them within ${ms(data.p50_ms)}, 95 of 100 within ${ms(data.p95_ms)}.` },
    bars, line("p95_ms"), line("p50_ms"),
    svg("text", { x: 0, y: 10 }, ms(most)), svg("text", { x: 0, y: HEIGHT + 14 }, "5 minutes ago"), svg("text", { x: width, y: HEIGHT + 14, "text-anchor": "end" }, "now"));
}

function mix(counts, empty) {
  const whole = Object.values(counts).reduce((a, b) => a + b, 0);
  if (!whole) return h("p", { class: "dim" }, empty);
  return h("ul", { class: "bars" }, Object.entries(counts).map(([name, n]) => h("li", null,
    h("span", { class: "who" }, plain(name)), h("span", { class: "meter", "aria-hidden": "true" }, wide(h("span", { class: "accent" }), n / whole)), h("span", { class: "num" }, `${n} · ${percent(n / whole)}`))));
}

function parts(data) {
  if (!data.parts.length) return h("p", { class: "dim" }, "Nothing that can fail has been used yet.");
  return table("Parts that can fail or hang", ["part", "state", "usual time", "under way", "hanging", "failures in a row"], data.parts.map((part) => {
    const [words, kind] = BREAKERS[part.breaker] || [part.breaker, "warn"];
    return [plain(part.name.replace("arm.", "search ")), h("span", { class: `state ${kind}` }, { good: "●", warn: "◐", bad: "■" }[kind], ` ${words}`), ms(part.median_ms), String(part.active), String(part.hanging), String(part.failures)];
  }));
}

function drawn(place, data) {
  const cache = data.cache.share === null ? "–" : percent(data.cache.share);
  fill(place,
    data.observed ? "" : h("p", { class: "callout note" }, "No recall was seen since the server began. Ask something, and it shows up here."),
    h("dl", { class: "tiles" },
      tile("Recalls in 5 minutes", data.recalls.toLocaleString("en")),
      tile("Half within", ms(data.p50_ms), "p50"), tile("95 of 100 within", ms(data.p95_ms), "p95"),
      tile("Kept answers", cache, data.cache.hits ? count(data.cache.hits, "hit") : "")),
    h("div", { class: "two even" },
      h("section", { class: "card" }, h("header", { class: "head" }, h("h2", null, "Time of a recall"), h("ul", { class: "legend" }, h("li", null, h("span", { class: "key p50_ms" }), " half of them"), h("li", null, h("span", { class: "key p95_ms" }), " 95 of 100"), h("li", null, h("span", { class: "key count" }), " how many"))), spark(data)),
      h("section", { class: "card" }, h("h2", null, "Plans"), mix(data.plans, "No recall in the last five minutes."))),
    h("div", { class: "two even" },
      h("section", { class: "card" }, parts(data)),
      h("section", { class: "card" }, h("h2", null, "What was left out"), mix(data.degraded, "Nothing: every recall was whole."))));
}

export function liveView(main, app) {
  const place = h("div", { class: "stack" });
  const stop = new AbortController();
  let timer = 0;
  let paused = false;

  const turn = async () => {
    clearTimeout(timer);
    if (!document.hidden) {
      try {
        drawn(place, await get("live", app.asked(), stop.signal));
      } catch (error) {
        const told = app.failed(error);
        if (told) fill(place, told);
      }
    }
    if (!paused && !stop.signal.aborted) timer = setTimeout(turn, EVERY_MS);
  };
  const pause = h("button", { type: "button", class: "quiet", "aria-pressed": "false", onclick: () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    pause.textContent = paused ? "Go on" : "Pause";
    if (paused) clearTimeout(timer); else turn();
  } }, "Pause");
  fill(main, h("div", { class: "row between" }, h("h1", null, "Live"), pause), place);
  turn();
  return () => { stop.abort(); clearTimeout(timer); };
}
