// Elements and texts. Texts of programs become text nodes, never markup.

// el makes an element. Attributes that begin with on are listeners; class, text,
// and properties by a leading dot are special. Children may be null.
export function el(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) e.addEventListener(name.slice(2), value);
    else if (name === 'text') e.textContent = value;
    else if (name.startsWith('.')) e[name.slice(1)] = value;
    else e.setAttribute(name, value === true ? '' : value);
  }
  e.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  return e;
}

// Characters that a person cannot see, or that change the order of others:
// controls, bidirectional marks, fillers, variation and tag characters.
const hidden = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0\ufe00-\ufe0e\u{e0100}-\u{e01ef}]/gu;
const kept = new Set(['\n', '\t']);

// visible shows such characters by their number, so that a name or a question
// cannot look like another one.
export function visible(text) {
  return String(text ?? '').replace(hidden, (c) => (kept.has(c) ? c : `‹U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}›`));
}

// line is visible text on one line.
export const line = (text) => visible(String(text ?? '').replace(/[\n\t]+/g, ' '));

// count is a number of things: 1 agent, 2 agents.
export const count = (n, thing) => `${n} ${thing}${n === 1 ? '' : 's'}`;

// span says how long ago a time was: 5s, 3m, 2h, 4d; "" if it is not known.
export function span(time, now = Date.now()) {
  if (!time) return '';
  const s = Math.max(0, Math.round((now - Date.parse(time)) / 1000));
  if (s < 60) return `${s}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m`;
  if (s < 48 * 3600) return `${Math.floor(s / 3600)}h`;
  return `${Math.floor(s / 86400)}d`;
}

// since is an element that counts on by itself; see tick.
export function since(time) {
  return el('time', { datetime: time || '', class: 'since', title: time ? new Date(time).toLocaleString() : '', text: span(time) });
}

// tick brings every such element up to date.
export function tick() {
  for (const t of document.querySelectorAll('time.since')) {
    const text = span(t.getAttribute('datetime'));
    if (t.textContent !== text) t.textContent = text;
  }
}

// clock is the time of day, with the date if that is another one.
export function clock(time) {
  const d = new Date(time);
  return d.toDateString() === new Date().toDateString() ? d.toLocaleTimeString() : d.toLocaleString();
}

// openLink opens a link of a program: http and https alone.
export function openLink(uri) {
  let url;
  try { url = new URL(uri); } catch { return; }
  if (url.protocol === 'http:' || url.protocol === 'https:') window.open(url.href, '_blank', 'noopener,noreferrer');
}
