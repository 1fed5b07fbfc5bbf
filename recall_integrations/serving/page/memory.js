// One memory, and what stands before and after it.

import { get, post } from "./api.js";
import { fill, h, theirs } from "./dom.js";
import { day, plain } from "./words.js";

const dialog = document.getElementById("dialog");
const MOST = 20000;

function beside(app, list, title) {
  if (!list.length) return "";
  return h("div", null, h("h3", null, title), h("ol", { class: "beside" }, list.map((one) =>
    h("li", null, h("button", { type: "button", class: "line", onclick: () => openMemory(app, one.id) },
      h("span", { class: "dim" }, one.actor ? theirs(`${one.actor}: `) : ""), theirs(one.text || one.id))))));
}

function details(memory) {
  const rows = [["type", memory.type], ["by", memory.actor], ["role", memory.role], ["where", memory.channel],
    ["when", day(memory.event_at, true)], ["stored", day(memory.created_at, true)], ["until", day(memory.expires_at, true)],
    ["thread", memory.thread], ["refs", memory.refs.join(", ")], ["importance", String(memory.importance)],
    ["states", memory.relations.map(([from, what, to]) => `${from} ${plain(what)} ${to}`).join("; ")],
    ["metadata", Object.keys(memory.metadata).length ? JSON.stringify(memory.metadata) : ""], ["id", memory.id]];
  return h("dl", { class: "facts" }, rows.filter(([, value]) => value).map(([name, value]) => [h("dt", null, name), h("dd", null, theirs(String(value).slice(0, 2000)))]));
}

/** Buttons that correct and forget a memory; each change is asked for twice. */
function editing(app, memory) {
  if (!app.writes) return "";
  const place = h("div", { class: "stack" });
  const { scope, privacy } = app.asked();
  const button = (label, act, cls) => h("button", { type: "button", class: cls || "quiet", onclick: act }, label);
  const sure = (label, ask, words, ...fields) => {
    const act = async () => {
      try {
        await ask();
        app.changed(words);
      } catch (error) {
        place.append(app.failed(error));
      }
    };
    fill(place, ...fields, h("div", { class: "row end" }, button("Leave it as it is", begin), button(label, act, "main")));
    place.querySelector("textarea, button").focus();
  };
  const correct = () => {
    const field = h("textarea", { rows: "4", dir: "auto", value: memory.text });
    const ask = () => post("../remember", { scope, memory: { ...memory, text: field.value } });
    sure("Save it", ask, "It is corrected.", h("label", { class: "field" }, h("span", null, "What it should say"), field));
  };
  const forget = () => sure("Yes, forget it", () => post("../forget", { scope, ids: [memory.id] }), "It is forgotten.",
    h("p", { class: "callout warn" }, "No recall will find it again, and it cannot be brought back."));
  const begin = () => fill(place, h("div", { class: "row" },
    privacy === "allow" && memory.text ? button("Correct it", correct) : "", button("Forget it", forget)));
  return begin();
}

export async function openMemory(app, id) {
  const close = h("button", { type: "button", class: "quiet", onclick: () => dialog.close() }, "Close");
  const title = h("h2", { id: "dialog-title", tabindex: "-1" }, "A memory");
  const place = h("div", { class: "stack" }, h("p", { class: "dim" }, "Reading …"));
  fill(dialog, h("div", { class: "row between" }, title, close), place);
  if (!dialog.open) dialog.showModal();
  title.focus();
  try {
    const found = await get("memory", { ...app.asked(), id });
    const text = found.memory.text;
    fill(place,
      beside(app, found.before, "Before it"),
      h("blockquote", { class: "text", dir: "auto" }, text ? text.slice(0, MOST) : h("span", { class: "dim" }, "The text is not shown."), text.length > MOST ? " …" : ""),
      beside(app, found.after, "After it"),
      details(found.memory),
      editing(app, found.memory),
      found.names.length ? h("p", { class: "names" }, h("span", { class: "dim" }, "names in it "), found.names.map((name) =>
        h("button", { type: "button", class: "chip", onclick: () => { dialog.close(); app.go("names", { around: name.id }); } }, theirs(name.name)))) : "");
  } catch (error) {
    fill(place, app.failed(error));
  }
}
