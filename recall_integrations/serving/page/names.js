// The names that memories mention, as a graph and as a list. The list does everything that the graph does.

import { get } from "./api.js";
import { fill, h, room, say, svg, theirs } from "./dom.js";
import { layout } from "./force.js";
import { count } from "./words.js";

const WIDTH = 760;

function linksOf(data, id) {
  return data.links.filter((link) => link.from === id || link.to === id);
}

function graph(data, choose) {
  const width = room(WIDTH);
  const height = Math.round(Math.max(width * 0.68, Math.min(360, data.names.length * 22)));
  const index = new Map(data.names.map((name, i) => [name.id, i]));
  const most = Math.max(...data.names.map((name) => name.mentions), 1);
  const links = data.links.filter((link) => index.has(link.from) && index.has(link.to));
  const at = layout(data.names, links.map((link) => [index.get(link.from), index.get(link.to), link.stated ? 1.4 : 0.5 + Math.min(1, link.together / 8)]), width, height);
  const lines = links.map((link) => {
    const [a, b] = [at[index.get(link.from)], at[index.get(link.to)]];
    const line = svg("line", { x1: a.x, y1: a.y, x2: b.x, y2: b.y, class: link.stated ? "stated" : "together", "data-from": link.from, "data-to": link.to });
    if (link.words.length) line.append(svg("title", null, link.words.join(", ")));
    return line;
  });
  const nodes = data.names.map((name, i) => {
    const radius = 4 + (width < 600 ? 6 : 12) * Math.sqrt(name.mentions / most);
    return svg("g", { class: "node", "data-id": name.id, transform: `translate(${at[i].x} ${at[i].y})`, onclick: () => choose(name.id) },
      svg("circle", { r: radius }),
      svg("text", { y: radius + 12, "text-anchor": "middle" }, name.name.length > 22 ? `${name.name.slice(0, 21)}…` : name.name),
      svg("title", null, `${name.name}: ${count(name.mentions, "memory", "memories")}`));
  });
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "graph", role: "img", "aria-label": `${count(data.names.length, "name")} and ${count(links.length, "link")} between them. The list beside it says the same.` }, lines, nodes);
}

function mark(place, data, id) {
  const near = new Set([id, ...linksOf(data, id).flatMap((link) => [link.from, link.to])]);
  for (const node of place.querySelectorAll(".node")) {
    node.classList.toggle("chosen", node.dataset.id === id);
    node.classList.toggle("faint", Boolean(id) && !near.has(node.dataset.id));
  }
  for (const line of place.querySelectorAll("line")) {
    line.classList.toggle("faint", Boolean(id) && line.dataset.from !== id && line.dataset.to !== id);
  }
  for (const button of place.querySelectorAll(".namelist button")) {
    button.setAttribute("aria-pressed", String(button.dataset.id === id));
  }
}

function about(data, id, app, load) {
  const name = data.names.find((one) => one.id === id);
  const known = new Map(data.names.map((one) => [one.id, one.name]));
  const rows = linksOf(data, id).map((link) => {
    const other = link.from === id ? link.to : link.from;
    const words = link.words.join(", ");
    const who = theirs(known.get(other) || other);
    const dim = (text) => h("span", { class: "dim" }, text);
    const said = !words ? [dim("with "), who] : link.from === id ? [dim(`${words} `), who] : [who, dim(` ${words} it`)];
    return h("li", null, said, link.together ? dim(`, together in ${count(link.together, "memory", "memories")}`) : "");
  });
  return h("section", { class: "card" }, h("h2", null, theirs(name.name)),
    h("p", { class: "dim" }, `in ${count(name.mentions, "memory", "memories")}${name.declared ? ", declared" : ""}`),
    rows.length ? h("ul", { class: "linklist" }, rows) : h("p", { class: "dim" }, "Linked to none of those shown."),
    h("div", { class: "row" },
      h("button", { type: "button", class: "quiet", onclick: () => load(id) }, "Only what is around it"),
      h("button", { type: "button", class: "quiet", onclick: () => app.go("time", { entity: name.name }) }, "Its memories in time"),
      h("button", { type: "button", class: "quiet", onclick: () => app.go("ask", { query: `What about ${name.name}?` }) }, "Ask about it")));
}

export function namesView(main, app) {
  const place = h("div", { class: "stack" });
  const stop = new AbortController();

  const draw = (data, around) => {
    const detail = h("div");
    const choose = (id) => {
      mark(place, data, id);
      fill(detail, about(data, id, app, load));
      const name = data.names.find((one) => one.id === id);
      say(`${name.name}, in ${count(name.mentions, "memory", "memories")}, ${count(linksOf(data, id).length, "link")}`);
    };
    const list = h("ul", { class: "namelist" }, data.names.map((name) => h("li", null,
      h("button", { type: "button", "data-id": name.id, "aria-pressed": "false", onclick: () => choose(name.id) }, theirs(name.name), h("span", { class: "num dim" }, String(name.mentions))))));
    const filter = h("input", { type: "search", placeholder: "Find a name", "aria-label": "Find a name in the list", oninput: () => {
      const wanted = filter.value.toLowerCase();
      for (const row of list.children) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    } });
    fill(place,
      h("p", { class: "dim" }, data.withheld ? "Names are not shown with this setting." : `${count(data.names.length, "name")} of ${data.total.toLocaleString("en")}${around ? ", those around one" : ", those mentioned most"}. A line: stated in a memory; a dotted one: mentioned together.`,
        around ? [" ", h("button", { type: "button", class: "link", onclick: () => load("") }, "Show all again")] : ""),
      data.names.length ? h("div", { class: "two names-two" },
        h("section", { class: "card nopad", "aria-label": "Graph" }, graph(data, choose)),
        h("div", { class: "side" }, h("section", { class: "card" }, h("h2", null, "List"), filter, list), detail)) : h("p", { class: "card" }, data.withheld ? "" : ["No names yet. A memory brings its actor, its entities and the ends of its relations: ",
        h("code", null, "recall add STORE TEXT --actor Mei --entity Kestrel"), ". Names that texts mention are declared with ",
        h("code", null, "recall entity STORE NAME"), "."]));
    if (around) choose(around);
  };

  const load = async (around) => {
    fill(place, h("p", { class: "dim" }, "Reading …"));
    try {
      draw(await get("names", { ...app.asked(), around, limit: 40 }, stop.signal), around);
    } catch (error) {
      const told = app.failed(error);
      if (told) fill(place, told);
    }
  };

  fill(main, h("h1", null, "Names"), place);
  load(app.given.around || "");
  app.given = {};
  return () => stop.abort();
}
