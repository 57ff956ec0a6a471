// The history of an agent: read backwards, searched with matches marked.
import { el, line, visible } from './text.js';
import { colours, resolve } from './theme.js';

const page = 500;

export class HistoryView {
  constructor(page, id) {
    this.page = page;
    this.id = id;
    this.rows = el('div', { class: 'history', tabindex: '0', role: 'log', 'aria-label': 'History' });
    this.more = el('button', { text: 'Earlier lines', hidden: true, onclick: () => this.load(true) });
    this.said = el('span', { class: 'dim', role: 'status' });
    this.search = el('input', { type: 'search', placeholder: 'Search  /', 'aria-label': 'Search', onkeydown: (e) => { if (e.key === 'Enter') this.load(false); } });
    this.element = el('section', { class: 'one' },
      el('div', { class: 'row bar' }, el('a', { class: 'button', href: `#/agent/${encodeURIComponent(id)}`, text: 'Back to the terminal' }),
        this.search, el('button', { text: 'Search', onclick: () => this.load(false) }), this.said), this.more, this.rows);
  }

  get title() { return `History of ${line(this.page.state.name(this.id))}`; }

  show() { this.load(false); }

  async load(earlier) {
    const text = this.search.value;
    const run = this.run = {};
    const before = earlier ? this.first : 0;
    this.said.textContent = 'Reading…';
    let h;
    try {
      h = await this.page.conn.call('history', { id: this.id, page: { before, lines: page, search: text } });
    } catch (e) {
      this.said.textContent = e.code === 'unsupported' ? 'This agent’s provider keeps no history.' : e.message;
      return;
    }
    if (run !== this.run) return;
    const lines = h.lines ?? [];
    if (lines.length) this.first = lines[0].n;
    const rows = lines.map((l) => row(l, text));
    const bottom = this.rows.scrollHeight - this.rows.scrollTop;
    if (earlier) this.rows.prepend(...rows);
    else this.rows.replaceChildren(...rows);
    this.more.hidden = !h.more;
    this.said.textContent = text ? `${this.rows.children.length} lines match` : h.lost ? `${h.lost} older lines are no longer kept` : '';
    this.rows.scrollTop = earlier ? this.rows.scrollHeight - bottom : this.rows.scrollHeight;
    if (!earlier) this.rows.focus({ preventScroll: true });
  }

  key(key) {
    if (key === '/') {
      this.search.focus();
      return true;
    }
    return this.page.agentKey(key, this.id);
  }
}

function row(l, search) {
  const theme = colours();
  const runs = (l.line.runs ?? []).map((r) => {
    const s = r.style ?? {};
    let fg = resolve(s.fg, '', theme.ansi), bg = resolve(s.bg, '', theme.ansi);
    if (s.inverse) [fg, bg] = [bg || theme.background, fg || theme.foreground];
    const span = el('span', {}, ...marked(visible(r.text), search));
    Object.assign(span.style, { color: fg, background: bg, fontWeight: s.bold ? 'bold' : '', fontStyle: s.italic ? 'italic' : '', opacity: s.faint ? '.65' : '' });
    return span;
  });
  return el('div', { class: 'line' }, runs, '\n');
}

// marked are the parts of a text, with the matches as marks.
function marked(text, search) {
  if (!search) return [text];
  const parts = [];
  const low = text.toLowerCase(), want = search.toLowerCase();
  let at = 0;
  for (let i = low.indexOf(want); i >= 0 && low.length === text.length; i = low.indexOf(want, at)) {
    parts.push(text.slice(at, i), el('mark', { text: text.slice(i, i + want.length) }));
    at = i + want.length;
  }
  parts.push(text.slice(at));
  return parts;
}
