// The page: which view is shown, whose memories, what may be seen, the token and the theme.

import { get, keepToken, token, whenRefused } from "./api.js";
import { askView } from "./ask.js";
import { fill, h, say } from "./dom.js";
import { namesView } from "./names.js";
import { timeView } from "./timeline.js";

const VIEWS = { ask: askView, names: namesView, time: timeView };
const THEMES = { auto: "as the system", light: "light", dark: "dark" };
const main = document.getElementById("main");
const scopes = document.getElementById("scope");
const privacy = document.getElementById("privacy");
const dialog = document.getElementById("dialog");

export const app = {
  about: null,
  given: {}, // what one view hands to the next
  asked() {
    return { scope: scopes.value, privacy: privacy.value };
  },
  go(view, given) {
    app.given = given || {};
    if (location.hash === `#${view}`) show();
    else location.hash = view;
  },
  /** Whether the caller may change memories. */
  get writes() {
    return app.about.may.includes("write");
  },
  /** Show everything anew after a change. */
  changed(words) {
    dialog.close();
    app.given = { again: true };
    begin();
    say(words);
  },
  failed(error) {
    if (error.name === "AbortError") return null;
    say(`That did not work. ${error.message}`);
    return h("div", { class: "callout bad", role: "alert" }, h("strong", null, "That did not work. "), error.message);
  },
};

let leave = () => {};

function show() {
  const name = VIEWS[location.hash.slice(1)] ? location.hash.slice(1) : "ask";
  leave();
  for (const link of document.querySelectorAll(".tabs a")) {
    if (link.getAttribute("href") === `#${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  fill(main);
  leave = VIEWS[name](main, app) || (() => {});
}

// -- theme -----------------------------------------------------------------------------------------------------------

const themeButton = document.getElementById("theme");

function wear(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  themeButton.textContent = { auto: "◐", light: "☀", dark: "☾" }[theme];
  themeButton.setAttribute("aria-label", `Theme: ${THEMES[theme]}. Change it.`);
  themeButton.title = `Theme: ${THEMES[theme]}`;
}

function theme() {
  const kept = localStorage.getItem("recall.theme");
  return THEMES[kept] ? kept : "auto";
}

themeButton.addEventListener("click", () => {
  const names = Object.keys(THEMES);
  const next = names[(names.indexOf(theme()) + 1) % names.length];
  localStorage.setItem("recall.theme", next);
  wear(next);
  say(`Theme: ${THEMES[next]}`);
});

// -- token -----------------------------------------------------------------------------------------------------------

function askForToken(wrong) {
  const field = h("input", { type: "password", id: "token-field", autocomplete: "off", spellcheck: "false", required: true });
  const form = h("form", { class: "stack", onsubmit: (event) => {
    event.preventDefault();
    keepToken(field.value.trim());
    dialog.close();
    begin();
  } },
    h("h2", { id: "dialog-title" }, "A token is needed"),
    h("p", { class: wrong ? "callout bad" : "dim" }, wrong
      ? "This token is not valid here. Ask whoever runs the server for another, or make one: recall token."
      : "This server shows memories only to those who have a token. It is kept in this tab until you close it."),
    h("label", { class: "field", for: "token-field" }, h("span", null, "Token"), field),
    h("div", { class: "row end" },
      h("button", { type: "button", class: "quiet", onclick: () => { keepToken(""); dialog.close(); begin(); } }, "Forget it"),
      h("button", { type: "submit", class: "main" }, "Use it")));
  fill(dialog, form);
  if (!dialog.open) dialog.showModal();
  field.focus();
}

let opened = false;
whenRefused(() => {
  if (opened) return;
  opened = true;
  askForToken(Boolean(token()));
  dialog.addEventListener("close", () => { opened = false; }, { once: true });
});
document.getElementById("token").addEventListener("click", () => askForToken(false));

// -- begin -----------------------------------------------------------------------------------------------------------

async function begin() {
  try {
    app.about = await get("about");
  } catch (error) {
    fill(main, error.status === 401 ? h("p", { class: "card dim" }, "Nothing is shown without a token.") : app.failed(error));
    return;
  }
  const { about } = app;
  const before = scopes.value;
  fill(scopes, about.scopes.map((one) => h("option", { value: one.scope }, `${one.name} (${one.memories.toLocaleString("en")})`)));
  if (about.scopes.some((one) => one.scope === before)) scopes.value = before;
  document.getElementById("token").hidden = !about.tokens;
  for (const option of privacy.options) option.disabled = !about.privacy.includes(option.value);
  if (privacy.selectedOptions[0].disabled) privacy.value = about.privacy[0];
  show();
}

scopes.addEventListener("change", show);
privacy.addEventListener("change", show);
addEventListener("hashchange", () => { if (app.about) { show(); main.focus({ preventScroll: true }); } });
addEventListener("keydown", (event) => {
  const typing = event.target.closest && event.target.closest("input, textarea, select, dialog");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  const field = document.getElementById("query");
  if (field) field.focus();
  else app.go("ask", { focus: true });
});
wear(theme());
begin();
