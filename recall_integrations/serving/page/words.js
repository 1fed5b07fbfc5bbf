// Plain words for what the program calls by short names, and numbers as people read them.

export const ARMS = {
  semantic: ["search by meaning", "texts whose meaning is near, whatever their words"],
  lexical: ["search by words", "texts that hold the words of the question"],
  graph: ["search by names", "memories linked to the people and things that are named"],
  temporal: ["search by time", "memories of the time that is asked for"],
  type_filter: ["search by type", "memories of the type that is asked for"],
};

export const PLANS = {
  precise: "the question is exact, so it looks for just that",
  entity_centric: "the question names somebody or something, so it follows the names",
  temporal: "the question asks for a time, so it follows the time",
  precision: "the question holds rare words, so it follows the words",
  exploratory: "the question is broad, so it looks widely and mixes what it finds",
  balanced: "nothing stands out in the question, so every search counts alike",
};

export const RULES = {
  precise: "exact", entity_centric: "names", temporal: "time", precision: "rare words", exploratory: "broad", balanced: "otherwise",
};

export const ROLES = {
  negated: ["left out", "what the question excludes"],
  entity: ["name", "somebody or something that the memories know"],
  time: ["time", "read as a date or a span of time"],
  session: ["talk", "a conversation that is asked for"],
  identifier: ["id", "searched letter by letter"],
  corrected: ["spelling", "also read as a word that the memories use"],
  rare: ["rare", "few memories say it, so it tells much"],
  stop: ["small word", "says little and is not searched"],
};

export const FEATURES = {
  entity_density: ["names", "how much of it is names"],
  temporal: ["time", "whether it asks for a time"],
  lexical_rarity: ["rare words", "how rare its words are here"],
  type_cues: ["type", "whether it asks for a type of memory"],
};

// Evidence, shorter than the program's names for it.
export const EVIDENCE = {
  bm25: "the question's words", bm25_counted: "the question's words", idf_coverage: "its rare words", passage_match: "the best passage",
  char_bm25: "words spelled alike", lead_match: "how it begins", soft_match: "words alike in meaning", near_match: "words close together",
  near_match_w1: "words around it", near_match_w2: "words around it", bigram_match: "pairs of words", thread_best_soft_match: "its conversation",
  feedback: "like the best matches", near_in_time: "near them in time", cosine: "meaning",
  cosine_w1: "meaning around it", speaker_named: "said by who is named", cast_present: "who takes part",
  asked_before: "answers a like question", subject_match: "about what was said before", speaker_prior_match: "what they said before", exchange_bm25: "what is said beside it",
  is_question: "it asks something", asking_share: "how much of it asks", by_user: "the user said it", by_asked_role: "said in that role",
  date_words_asked: "it says a date", date_match: "its date fits", graph: "linked names", diversity: "moved for variety", type_first: "moved for its type",
  time_first: "moved for its time", type_filter: "its type", temporal: "its time", semantic: "found by meaning", lexical: "found by words", negation: "moved: it is left out", duplicate: "moved: said already",
};

export const BREAKERS = {
  closed: ["works", "good"], open: ["left alone for now", "bad"], half_open: ["being tried again", "warn"],
};

export function arm(name) {
  return (ARMS[name] || [`search by ${name.replaceAll("_", " ")}`])[0];
}

export function evidence(one) {
  return EVIDENCE[one.source] || one.name || plain(one.source);
}

export function plain(name) {
  return name.replaceAll("_", " ");
}

export function ms(value) {
  if (value === null || value === undefined) return "–";
  if (value > 0 && value < 0.05) return "< 0.1 ms";
  return `${value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString("en")} ms`;
}

export function percent(value) {
  if (value === null || value === undefined) return "–";
  const share = value * 100;
  return share > 0 && share < 1 ? "< 1 %" : `${Math.round(share)} %`;
}

export function count(n, one, many) {
  return `${n.toLocaleString("en")} ${n === 1 ? one : many || `${one}s`}`;
}

export function place(n) {
  const tens = n % 100;
  const end = tens > 10 && tens < 14 ? "th" : { 1: "st", 2: "nd", 3: "rd" }[n % 10] || "th";
  return `${n}${end}`;
}

export function day(text, hours) {
  if (!text) return "";
  const moment = new Date(text);
  if (Number.isNaN(moment.getTime())) return text;
  const date = { year: "numeric", month: "short", day: "numeric", timeZone: "UTC" };
  return moment.toLocaleString("en-GB", hours ? { ...date, hour: "2-digit", minute: "2-digit" } : date);
}

export function signed(value) {
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;
}
