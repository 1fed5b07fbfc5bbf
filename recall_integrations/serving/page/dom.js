// Elements from data. Text is only ever set as text: what memories say is never read as markup.

const SVG = "http://www.w3.org/2000/svg";

function filled(node, props, children) {
  for (const [name, value] of Object.entries(props || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "class") node.setAttribute("class", value);
    else if (name === "value") node.value = value;
    else if (name === "checked" || name === "disabled" || name === "hidden" || name === "open") node[name] = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false && c !== ""));
  return node;
}

export function h(tag, props, ...children) {
  return filled(document.createElement(tag), props, children);
}

export function svg(tag, props, ...children) {
  return filled(document.createElementNS(SVG, tag), props, children);
}

export function fill(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  return node;
}

/** Text of others: it keeps its own direction and cannot turn what stands around it. */
export function theirs(text, cls) {
  return h("bdi", { class: cls || null, dir: "auto" }, text);
}

/** Positions come in code points; JavaScript counts in halves of them. */
export function points(text) {
  return /[\ud800-\udfff]/.test(text) ? Array.from(text) : text;
}

export function cut(piece, start, end) {
  const found = piece.slice(start, end);
  return typeof found === "string" ? found : found.join("");
}

export function wide(node, share) {
  node.style.inlineSize = `${Math.max(0, Math.min(1, share)) * 100}%`;
  return node;
}

/** How wide a picture may be drawn, so that its words have their size on every screen. */
export function room(most) {
  return Math.max(280, Math.min(most, document.getElementById("main").clientWidth - 60));
}

export function table(caption, heads, rows) {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", null,
      h("caption", null, caption),
      h("thead", null, h("tr", null, heads.map((head) => h("th", { scope: "col" }, head)))),
      h("tbody", null, rows.map((row) => h("tr", null, row.map((cell, i) =>
        i ? h("td", null, cell) : h("th", { scope: "row" }, cell)))))));
}

const said = () => document.getElementById("said");

export function say(text) {
  said().textContent = text;
}
