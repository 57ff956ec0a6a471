// One agent: its question, its terminal, and all that can be done to it.
import { count, el, line, since, visible } from './text.js';
import { colour, word } from './state.js';
import { Screen } from './cells.js';
import { AgentTerminal, keyRow } from './terminal.js';
import { ask } from './dialog.js';
import { where } from './attention.js';

export class AgentView {
  constructor(page, id) {
    this.page = page;
    this.id = id;
    this.head = el('div', { class: 'head big' });
    this.ask = el('div');
    this.trouble = el('p', { class: 'said', hidden: true });
    this.box = el('div', { class: 'screen', role: 'region' });
    this.bar = el('div', { class: 'row bar' });
    this.queue = el('div');
    this.find = el('input', { type: 'search', placeholder: 'Find on the terminal', 'aria-label': 'Find on the terminal', hidden: true,
      oninput: () => this.search(false), onkeydown: (e) => { if (e.key === 'Enter') this.search(true); },
      onblur: () => { if (!this.find.value) this.find.hidden = true; } });
    this.element = el('section', { class: 'one' }, this.head, this.trouble, this.ask, this.bar, this.find, this.box, this.queue);
  }

  get title() { return line(this.page.state.name(this.id)); }

  show() {
    const { conn } = this.page;
    this.terminal = new AgentTerminal(conn, this.id, this.box);
    this.terminal.addEventListener('control', () => this.#control());
    this.terminal.addEventListener('unsupported', () => this.#cells());
    this.terminal.addEventListener('ended', () => this.update());
    conn.look([{ id: this.id, rate: 2, crop: { rows: 1 } }]); // for the size; the terminal has the rest
    this.update();
  }

  hide() {
    this.page.conn.look([]);
    this.terminal.dispose();
  }

  controls() { return this.terminal?.controls ?? false; }

  screen(u) {
    if (this.cells) this.cells.apply(u);
    else if (u.cols && u.rows) this.terminal.agentSize(u.cols, u.rows);
  }

  // cells shows the screen without a terminal, for providers that have none.
  #cells() {
    this.cells = new Screen([Math.min(this.box.clientWidth, 1100), Infinity]);
    this.cells.canvas.setAttribute('aria-label', `Screen of ${this.title}`);
    this.box.replaceChildren(this.cells.canvas);
    this.box.classList.add('plain');
    this.page.conn.look([{ id: this.id, rate: 30 }]);
    this.key0 = null;
    this.update();
  }

  #control() {
    this.box.classList.toggle('controlled', this.controls());
    this.keys?.remove();
    this.keys = null;
    if (this.controls()) {
      this.keys = keyRow(this.terminal);
      this.box.after(this.keys);
    }
    this.key0 = null;
    this.update();
    if (!this.controls()) this.bar.querySelector('button')?.focus();
  }

  update() {
    const agent = this.page.state.agents.get(this.id);
    this.box.setAttribute('aria-label', `Terminal of ${this.title}`);
    if (!agent) {
      this.head.replaceChildren(el('h2', { text: this.title }), el('span', { class: 'dim', text: this.page.state.known ? 'There is no such agent.' : '' }));
      return;
    }
    const messages = this.page.state.messages.filter((m) => m.agent === this.id);
    const key = JSON.stringify([{ ...agent, lastLine: '', active: '', title: '' }, messages, this.controls(), this.page.conn.readOnly, this.page.conn.up]);
    if (key === this.key0) return;
    this.key0 = key;
    this.#fill(agent);
    const request = JSON.stringify([agent.question, this.page.conn.readOnly]);
    if (request !== this.request) {
      this.request = request;
      this.ask.replaceChildren(...(agent.question ? [this.page.actions.question(agent)] : []));
    }
    this.queue.replaceChildren(...messages.map((m) => this.#message(m)));
  }

  #fill(agent) {
    const w = word(agent);
    const facts = [where(agent), agent.provider, agent.restarts ? count(agent.restarts, 'restart') : '', agent.attached ? `${agent.attached} attached` : ''];
    this.head.replaceChildren(...[el('h2', { text: line(agent.name) }), el('span', { class: `badge ${colour(w)}`, text: w }),
      since(agent.since), el('span', { class: 'dim', text: agent.source ? `from ${line(agent.source)}` : '' }),
      w === 'unknown' && agent.seen ? el('span', { class: 'dim' }, 'last known ', since(agent.seen), ' ago') : null,
      el('span', { class: 'dim grow', text: line(facts.filter(Boolean).join(' · ')) })].filter(Boolean));
    const trouble = [agent.error, agent.exit && agent.state !== 'running' ? agent.exit : '', agent.limited].filter(Boolean).join(' — ');
    this.trouble.hidden = !trouble;
    this.trouble.textContent = visible(trouble);
    this.#bar(agent);
  }

  // bar shows what can be done. Its buttons stay while they are the same: a click begins and
  // ends on one.
  #bar(agent) {
    const { actions, conn } = this.page;
    const key = JSON.stringify([agent.can, agent.recording, conn.readOnly, Boolean(this.cells), this.terminal.ended, this.controls()]);
    if (key === this.barKey) return;
    this.barKey = key;
    const at = [...this.bar.children].indexOf(document.activeElement);
    const link = (text, to) => el('a', { class: 'button', href: `#/${to}/${encodeURIComponent(this.id)}`, text });
    const buttons = [];
    if (!conn.readOnly && !this.cells && !this.terminal.ended) {
      buttons.push(el('button', {
        class: this.controls() ? 'main' : '', text: this.controls() ? 'Release control' : 'Take control', title: this.controls() ? 'Ctrl-B d' : 't',
        id: 'control', onclick: () => this.terminal.control(!this.controls()),
      }));
    }
    if (!conn.readOnly) buttons.push(el('button', { text: 'Message', id: 'nudge', onclick: () => actions.nudge(this.id) }), ...actions.buttons(agent));
    buttons.push(el('button', { text: 'Explain', onclick: () => this.explain() }), link('History', 'history'));
    if (agent.recording) buttons.push(link('Recording', 'recording'));
    if (this.controls()) buttons.push(el('span', { class: 'dim' }, 'Keys go to the agent. ', el('kbd', { text: 'Ctrl-B' }), ' ', el('kbd', { text: 'd' }), ' releases it.'));
    this.bar.replaceChildren(...buttons);
    if (at >= 0) this.bar.children[Math.min(at, buttons.length - 1)].focus();
  }

  #message(m) {
    const { actions, conn } = this.page;
    const dead = m.state === 'dead';
    return el('div', { class: `card message ${dead ? 'hot' : ''}` },
      el('div', { class: 'head' }, el('span', { class: `badge ${dead ? 'hot' : 'cool'}`, text: dead ? 'dead letter' : visible(m.state) }),
        el('span', { class: 'dim grow', text: line(m.detail) }), since(m.created)),
      el('pre', { text: visible(m.text) }),
      conn.readOnly ? null : el('div', { class: 'row' },
        dead ? el('button', { text: 'Retry', onclick: () => actions.message(m.id, 'retry') }) : null,
        el('button', { text: dead ? 'Forget' : 'Cancel', onclick: () => actions.message(m.id, 'cancel') })));
  }

  async explain() {
    let content;
    try {
      const e = await this.page.conn.call('explain', { id: this.id });
      const facts = (e.facts ?? []).map((f) => [el('dt', { text: line(f.name) }), el('dd', { text: visible(f.text) })]);
      const evidence = (e.evidence ?? []).map((f) => el('li', {}, el('b', { text: line(f.source) }), ` ${line(f.state)} `, el('span', { class: 'dim', text: line(f.text) })));
      content = [el('dl', { class: 'facts' }, facts), evidence.length ? el('h3', { text: 'Evidence, the strongest first' }) : null, el('ol', {}, evidence)];
    } catch (err) {
      content = el('p', { text: err.message });
    }
    ask(`Why ${this.title} is as it is`, content, [{ text: 'Close', value: null, main: true }]);
  }

  // search marks a text on the terminal, from below.
  search(next) {
    const { search } = this.terminal.x;
    const decorations = { matchOverviewRuler: '#d9a400', activeMatchColorOverviewRuler: '#d9a400', matchBackground: '#ffe699', activeMatchBackground: '#ffc400' };
    if (this.find.value) search.findPrevious(this.find.value, { incremental: !next, decorations });
    else search.clearDecorations();
  }

  key(key) {
    if (key === '/' && !this.cells) {
      this.find.hidden = false;
      this.find.focus();
    } else if (key === 't' && !this.page.conn.readOnly && !this.cells) this.terminal.control(true);
    else if (key === 'x') this.explain();
    else if (/^[1-9]$/.test(key)) this.ask.querySelector(`[data-option="${key}"]`)?.click();
    else return this.page.agentKey(key, this.id);
    return true;
  }
}
