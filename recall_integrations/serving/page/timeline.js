// Memories along time: how many of each type, zoomed by buttons, keys or a click, and the newest of them below.

import { get } from "./api.js";
import { fill, h, room, say, svg, table, theirs } from "./dom.js";
import { openMemory } from "./memory.js";
import { count, day } from "./words.js";

const WIDTH = 960;
const HEIGHT = 150;
const TYPES = ["fact", "preference", "event", "skill", "chunk", "observation", "summary"];
const PAGE = 50;

function chart(data, zoomTo) {
  const width = room(WIDTH);
  const sums = data.buckets.map((bucket) => Object.values(bucket.types).reduce((a, b) => a + b, 0));
  const most = Math.max(...sums, 1);
  const step = width / Math.max(1, data.buckets.length);
  const bars = data.buckets.map((bucket, i) => {
    let y = HEIGHT;
    const parts = TYPES.filter((type) => bucket.types[type]).map((type) => {
      const size = Math.max(1.5, (bucket.types[type] / most) * (HEIGHT - 6));
      y -= size;
      return svg("rect", { x: i * step + 0.5, y, width: step - 1, height: size, rx: 1, class: `t-${type}` });
    });
    return svg("g", { class: "bucket", onclick: () => sums[i] && zoomTo(bucket.start, bucket.end) },
      svg("rect", { x: i * step, y: 0, width: step, height: HEIGHT, class: "ground" }), parts,
      svg("title", null, `${day(bucket.start)}: ${count(sums[i], "memory", "memories")}`));
  });
  const labels = (width < 600 ? [0, 0.5, 1] : [0, 0.25, 0.5, 0.75, 1]).map((share) => {
    const from = new Date(data.start).getTime();
    const moment = new Date(from + (new Date(data.end).getTime() - from) * share);
    return svg("text", { x: share * width, y: HEIGHT + 16, "text-anchor": share === 0 ? "start" : share === 1 ? "end" : "middle" }, day(moment.toISOString()));
  });
  return svg("svg", { viewBox: `0 0 ${width} ${HEIGHT + 22}`, class: "chart", role: "img", "aria-label": `${count(data.total, "memory", "memories")} from ${day(data.start)} until ${day(data.end)}; the most in one part: ${most}.` }, bars, labels);
}

function listed(data, app) {
  if (!data.memories.length) return h("p", { class: "dim" }, "Nothing here.");
  return h("ol", { class: "memories" }, data.memories.map((one) => h("li", null,
    h("button", { type: "button", class: "line", onclick: () => openMemory(app, one.id) },
      h("time", { datetime: one.event_at || one.created_at, class: "num dim" }, day(one.event_at || one.created_at)),
      h("span", { class: `badge t-${one.type}` }, one.type),
      h("span", { class: "grow" }, one.actor ? [h("span", { class: "dim" }, theirs(one.actor), ": ")] : "", theirs(one.text || one.id))))));
}

export function timeView(main, app) {
  const stop = new AbortController();
  const state = { start: "", end: "", skip: 0, type: "", actor: "", entity: app.given.entity || "" };
  const place = h("div", { class: "stack" });
  const actors = h("datalist", { id: "actors" });
  let data = null;
  app.given = {};

  const load = async () => {
    place.setAttribute("aria-busy", "true");
    try {
      data = await get("timeline", { ...app.asked(), ...state, limit: PAGE }, stop.signal);
      draw();
    } catch (error) {
      const told = app.failed(error);
      if (told) fill(place, told);
    } finally {
      place.removeAttribute("aria-busy");
    }
  };
  const span = (start, end) => { Object.assign(state, { start, end, skip: 0 }); load(); };
  const range = () => [new Date(data.start).getTime(), new Date(data.end).getTime()];
  const iso = (moment) => new Date(moment).toISOString();
  const zoom = (factor) => {
    const [from, to] = range();
    const middle = (from + to) / 2;
    const half = Math.max(30000, ((to - from) / 2) * factor);
    span(iso(middle - half), iso(middle + half));
  };
  const move = (share) => {
    const [from, to] = range();
    span(iso(from + (to - from) * share), iso(to + (to - from) * share));
  };
  const keys = { "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), ArrowLeft: () => move(-0.4), ArrowRight: () => move(0.4), 0: () => span("", "") };
  const button = (text, name, act) => h("button", { type: "button", class: "quiet", "aria-label": name, title: name, onclick: act }, text);

  const box = h("div", { class: "chartbox", tabindex: "0", role: "group", "aria-label": "Time line. Plus and minus zoom, arrows move, 0 shows everything.", onkeydown: (event) => {
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey || !data || !data.buckets.length) return;
    event.preventDefault();
    keys[event.key]();
  } });

  const draw = () => {
    fill(actors, data.actors.map((name) => h("option", { value: name })));
    fill(box, data.buckets.length ? chart(data, span) : h("p", { class: "dim" }, "No memories yet."));
    const there = TYPES.filter((type) => data.types.includes(type));
    fill(place,
      h("p", { class: "dim" }, `${count(data.total, "memory", "memories")} from ${day(data.start, true)} until ${day(data.end, true)}`),
      h("ul", { class: "legend" }, there.map((type) => h("li", null, h("span", { class: `badge t-${type}` }, type)))),
      listed(data, app),
      h("div", { class: "row" },
        h("button", { type: "button", class: "quiet", disabled: state.skip === 0, onclick: () => { state.skip = Math.max(0, state.skip - PAGE); load(); } }, "Newer"),
        h("button", { type: "button", class: "quiet", disabled: state.skip + PAGE >= data.total, onclick: () => { state.skip += PAGE; load(); } }, "Older")),
      h("details", { class: "tables" }, h("summary", null, "As a table"), table("Memories in time", ["from", "until", "memories", "types"], data.buckets.filter((bucket) => Object.keys(bucket.types).length).map((bucket) => [
        day(bucket.start, true), day(bucket.end, true), String(Object.values(bucket.types).reduce((a, b) => a + b, 0)), Object.entries(bucket.types).map(([type, n]) => `${type} ${n}`).join(", ")]))));
    say(`${count(data.total, "memory", "memories")} from ${day(data.start)} until ${day(data.end)}`);
  };

  const field = (name, props) => h("input", { ...props, value: state[name], onchange: (event) => { state[name] = event.target.value.trim(); state.skip = 0; load(); } });
  fill(main, h("h1", null, "Time line"),
    h("section", { class: "card" },
      h("div", { class: "row wrap" },
        h("label", { class: "field" }, h("span", null, "Type"), h("select", { onchange: (event) => { state.type = event.target.value; state.skip = 0; load(); } }, h("option", { value: "" }, "every type"), TYPES.map((type) => h("option", { value: type }, type)))),
        h("label", { class: "field" }, h("span", null, "By"), field("actor", { list: "actors", placeholder: "anybody" }), actors),
        h("label", { class: "field" }, h("span", null, "About"), field("entity", { placeholder: "anything" })),
        h("div", { class: "row zoom", role: "group", "aria-label": "Zoom" },
          button("‹", "Earlier", () => move(-0.4)), button("−", "Zoom out", () => zoom(2)), button("+", "Zoom in", () => zoom(0.5)), button("›", "Later", () => move(0.4)), button("All", "Show everything", () => span("", "")))),
      box), h("section", { class: "card" }, place));
  load();
  return () => stop.abort();
}
