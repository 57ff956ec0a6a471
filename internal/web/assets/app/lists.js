// Events as they come, and background commands with their output.
import { clock, el, line, since, visible } from './text.js';

const keep = 1000;

export class EventsView {
  constructor(page) {
    this.page = page;
    this.title = 'Events';
    this.filter = el('input', { type: 'search', placeholder: 'Filter  /', 'aria-label': 'Filter', oninput: () => this.update() });
    this.list = el('ol', { class: 'events', 'aria-label': 'Events, the newest first' });
    this.empty = el('p', { class: 'empty dim', text: 'No events yet.' });
    this.element = el('section', { 'aria-label': 'Events' }, el('div', { class: 'bar row' }, this.filter), this.empty, this.list);
    this.shown = [];
  }

  show() {
    this.page.conn.follow();
    this.shown = [];
    this.list.replaceChildren();
    for (const e of this.page.events) this.event(e);
    this.update();
  }

  update() {
    this.empty.hidden = this.shown.length > 0;
    const text = this.filter.value.toLowerCase();
    for (const item of this.list.children) item.hidden = text !== '' && !item.textContent.toLowerCase().includes(text);
  }

  event(e) {
    const words = [e.why, e.detail, e.by && `by ${e.by}`].filter(Boolean).join(' — ');
    const item = el('li', {}, el('time', { class: 'dim', datetime: e.time, text: clock(e.time) }), el('span', { class: 'kind', text: visible(e.kind) }),
      e.agent ? el('a', { 'data-nav': true, 'data-agent': e.agent, href: `#/agent/${encodeURIComponent(e.agent)}`, text: line(this.page.state.name(e.agent)) }) : el('span'),
      el('span', { class: 'dim grow', text: line(words) }));
    const text = this.filter.value.toLowerCase();
    item.hidden = text !== '' && !item.textContent.toLowerCase().includes(text);
    this.list.prepend(item);
    this.shown.push(e);
    this.empty.hidden = true;
    while (this.list.children.length > keep) this.list.lastChild.remove();
  }

  key(key) {
    if (key !== '/') return false;
    this.filter.focus();
    return true;
  }
}

export class CommandsView {
  constructor(page) {
    this.page = page;
    this.title = 'Background commands';
    this.list = el('ul', { class: 'commands', 'aria-label': 'Background commands' });
    this.empty = el('p', { class: 'empty dim', text: 'No background commands.' });
    this.output = el('pre', { class: 'output', tabindex: '0', hidden: true, 'aria-label': 'Output' });
    this.element = el('section', { 'aria-label': 'Background commands' }, this.empty, this.list, this.output);
  }

  show() {
    this.load();
    this.timer = setInterval(() => { if (!document.hidden) this.load(); }, 3000);
  }

  hide() { clearInterval(this.timer); }

  async load() {
    let commands = [];
    try {
      commands = await this.page.conn.call('commands') ?? [];
    } catch (e) {
      this.empty.textContent = e.code === 'unsupported' ? 'There are no background commands here.' : e.message;
    }
    this.empty.hidden = commands.length > 0;
    const key = JSON.stringify(commands);
    if (key !== this.key0) {
      this.key0 = key;
      const focused = document.activeElement?.dataset?.command;
      this.list.replaceChildren(...commands.map((c) => this.#item(c)));
      if (focused) this.list.querySelector(`[data-command="${CSS.escape(focused)}"]`)?.focus();
    }
    if (this.chosen) this.#show(this.chosen);
  }

  #item(c) {
    const good = c.status === 'running' || c.code === 0;
    return el('li', {}, el('button', { 'data-nav': true, 'data-command': c.id, class: 'command', onclick: () => this.#show(c.id, true) },
      el('span', { class: `badge ${c.status === 'running' ? 'good' : good ? 'calm' : 'hot'}`, text: c.code ? `${c.status} ${c.code}` : c.status }),
      el('code', { class: 'grow', text: line(c.command) }), el('span', { class: 'dim', text: line(c.owner ? this.page.state.name(c.owner) : '') }), since(c.ended ?? c.started)));
  }

  async #show(id, focus) {
    this.chosen = id;
    let text;
    try {
      const out = await this.page.conn.call('output', { id, page: { lines: 500 } });
      text = (out.lines ?? []).map((l) => visible(l.text)).join('\n');
    } catch (e) {
      text = e.message;
    }
    if (id !== this.chosen) return;
    const atEnd = this.output.scrollHeight - this.output.scrollTop - this.output.clientHeight < 20;
    this.output.hidden = false;
    if (this.output.textContent !== text) this.output.textContent = text;
    if (atEnd || focus) this.output.scrollTop = this.output.scrollHeight;
    if (focus) this.output.focus();
  }

  key() { return false; }
}
