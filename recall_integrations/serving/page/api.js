// What the page asks the server. A token is typed in, kept for this tab only, and sent as a header.

const KEPT = "recall.token";
let refused = () => {};

export class Problem extends Error {
  constructor(status, message, code) {
    super(message);
    this.status = status;
    this.code = code || "";
  }
}

export function whenRefused(call) {
  refused = call;
}

export function token() {
  return sessionStorage.getItem(KEPT) || "";
}

export function keepToken(text) {
  if (text) sessionStorage.setItem(KEPT, text);
  else sessionStorage.removeItem(KEPT);
}

async function sent(path, options) {
  const headers = { Accept: "application/json" };
  if (token()) headers.Authorization = `Bearer ${token()}`;
  if (options.body) headers["Content-Type"] = "application/json";
  let reply;
  try {
    reply = await fetch(path, { ...options, headers, credentials: "omit", cache: "no-store", referrerPolicy: "no-referrer" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "The server does not answer. Is “recall serve” still running?");
  }
  const data = await reply.json().catch(() => ({}));
  if (reply.ok) return data;
  if (reply.status === 401) refused();
  throw new Problem(reply.status, data.message || data.detail || `The server said ${reply.status}.`, data.code);
}

export function get(path, asked, signal) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(asked || {})) {
    if (value !== "" && value !== null && value !== undefined) query.set(name, value);
  }
  const text = query.toString();
  return sent(text ? `${path}?${text}` : path, { method: "GET", signal });
}

export function post(path, body, signal) {
  return sent(path, { method: "POST", body: JSON.stringify(body), signal });
}
