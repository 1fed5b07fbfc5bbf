// Everything that is drawn, as tables.

import { h, table, theirs } from "./dom.js";
import { arms } from "./reading.js";
import { ARMS, FEATURES, ROLES, arm, evidence as nameOf, ms, percent, place, plain, signed } from "./words.js";

function words(data) {
  return table("Words of the question", ["word", "part it plays", "rarity"], data.tokens.map((token) => [
    theirs(token.text), token.roles.map((role) => (ROLES[role] || [role])[0]).join(", ") || "searched", token.rarity === null ? "–" : token.rarity.toFixed(2)]));
}

function hits(data) {
  return table("Memories found", ["place", "memory", "score", "why", "found by"], data.hits.map((hit, i) => [
    String(i + 1), theirs(hit.memory.text.slice(0, 200) || hit.id), percent(hit.score), theirs(hit.reason),
    hit.contributions.filter((one) => ARMS[one.source] && one.rank).map((one) => `${arm(one.source)} ${place(one.rank)}`).join(", ")]));
}

function added(data) {
  const sources = [...new Set(data.hits.flatMap((hit) => hit.contributions.map((one) => one.source)))];
  const names = new Map(data.hits.flatMap((hit) => hit.contributions.map((one) => [one.source, nameOf(one)])));
  return table("What each piece of evidence added", ["evidence", ...data.hits.map((_, i) => `to the ${place(i + 1)}`)], sources.map((source) => [
    names.get(source), ...data.hits.map((hit) => {
      const one = hit.contributions.find((part) => part.source === source);
      return one ? signed(one.added) : "–";
    })]));
}

export function everything(data) {
  const { parsed, knobs } = data;
  return h("details", { class: "card tables" }, h("summary", null, "Everything as tables"),
    words(data), hits(data), data.hits.length ? added(data) : "",
    table("Searches", ["search", "asked", "began", "took", "found", "note"], arms(data)),
    table("Steps", ["step", "began", "took"], data.axis.stages.map((one) => [one.label, ms(one.began_ms), ms(one.took_ms)])),
    table("How specific the question is", ["feature", "value", "weight", "adds"], Object.entries(FEATURES).map(([name, [label]]) => [
      label, parsed.features[name].toFixed(3), String(knobs.weights[name]), (parsed.features[name] * knobs.weights[name]).toFixed(3)])),
    table("Rules", ["rule", "passes", "because", "margin"], data.rules.map((rule) => [plain(rule.rule), rule.fired ? "yes" : "no", rule.because, rule.margin === null ? "–" : signed(rule.margin)])),
    table("Switches of the plan", ["switch", "is"], Object.entries(data.switches).map(([name, on]) => [plain(name), Array.isArray(on) ? on.join(", ") || "none" : on ? "on" : "off"])),
    table("Beside the search", ["what", "did", "why"], [["other words", data.rewrite.strategy, plain(data.rewrite.reason)], ["kept answers", data.cache.strategy, plain(data.cache.reason)],
      ...(data.rerank ? [["reranker", data.rerank.used ? `used: ${data.rerank.reranker}` : "not used", plain(data.rerank.reason)]] : [])]),
    h("p", { class: "dim" }, `The plan, in the program's words: ${data.reason}`));
}
