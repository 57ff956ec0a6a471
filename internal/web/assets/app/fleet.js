// The fleet: every agent with its live screen, grouped by rig and pool.
import { count, el, line, since, visible } from './text.js';
import { colour, word } from './state.js';
import { Screen } from './cells.js';
import { onChange } from './theme.js';

// Sizes of the screens, and what of a screen is shown. A grid fills the window with whole
// screens, without groups.
const sizes = {
  list: { label: 'List' },
  small: { label: 'Small', crop: { cols: 80, rows: 18 }, rate: 4 },
  large: { label: 'Large', crop: { cols: 120, rows: 40 }, rate: 15 },
  grid2: { label: '2×2', crop: {}, rate: 30, grid: true },
  grid3: { label: '3×3', crop: {}, rate: 15, grid: true },
};
const sorts = { name: 'Name', since: 'Since', active: 'Activity' };

const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

// group is the group of an agent: those of a rig without a pool come before its pools.
const group = (a) => (a.rig || a.pool ? `${a.rig ?? ''}\n${a.pool ?? ''}` : '');
const heading = (g) => {
  const [rig, pool] = g.split('\n');
  return line([rig, pool && `pool ${pool}`].filter(Boolean).join(' · '));
};

export class FleetView {
  #cards = new Map();
  #seen = new Set();
  #undo = null;

  constructor(page) {
    this.page = page;
    this.title = 'Fleet';
    this.size = localStorage.getItem('gc-size') ?? 'small';
    if (!sizes[this.size]) this.size = 'small';
    this.filter = el('input', { type: 'search', placeholder: 'Filter  /', 'aria-label': 'Filter', oninput: () => this.update() });
    this.state = el('select', { 'aria-label': 'State', onchange: () => this.update() }, el('option', { value: '', text: 'Every state' }));
    this.sort = el('select', { 'aria-label': 'Sort', onchange: () => this.update() }, Object.entries(sorts).map(([v, text]) => el('option', { value: v, text })));
    this.sizer = el('select', { 'aria-label': 'Size of the screens', onchange: () => this.resize(this.sizer.value) },
      Object.entries(sizes).map(([v, s]) => el('option', { value: v, text: s.label })));
    this.sizer.value = this.size;
    this.count = el('span', { class: 'dim', role: 'status' });
    this.groups = el('div', { class: 'groups' });
    this.empty = el('p', { class: 'empty dim' });
    this.element = el('section', { 'aria-label': 'Fleet' },
      el('div', { class: 'bar row' }, this.filter, this.state, this.sort, this.sizer, this.count), this.empty, this.groups);
    this.space = new ResizeObserver((entries) => {
      for (const { target, contentRect: r } of entries) this.#cards.get(target.dataset.thumb)?.screen.fit([r.width, r.height]);
    });
    this.width = new ResizeObserver(() => this.#span());
    this.width.observe(this.groups);
    this.observer = new IntersectionObserver((entries) => this.#visible(entries), { rootMargin: '200px' });
  }

  show() {
    this.element.dataset.size = this.size;
    this.#undo = onChange(() => { for (const c of this.#cards.values()) c.screen?.repaint(); });
    this.update();
    this.#look();
  }

  hide() {
    this.#undo?.();
    this.page.conn.look([]);
  }

  resize(size) {
    this.size = size;
    localStorage.setItem('gc-size', size);
    this.sizer.value = size;
    this.element.dataset.size = size;
    for (const c of this.#cards.values()) c.element.remove();
    this.#cards.clear();
    this.#seen.clear();
    this.observer.disconnect();
    this.space.disconnect();
    this.update();
    this.#look();
  }

  update() {
    const all = this.page.state.list();
    this.#states(all);
    const text = this.filter.value.toLowerCase();
    const shown = all.filter((a) => (!this.state.value || word(a) === this.state.value)
      && (!text || [a.name, a.rig, a.pool, a.provider, a.host, a.lastLine, word(a)].join(' ').toLowerCase().includes(text)));
    const by = this.sort.value;
    if (by === 'name') shown.sort((a, b) => compare(group(a), group(b)) || compare(a.name, b.name));
    else shown.sort((a, b) => (Date.parse(b[by] ?? 0) || 0) - (Date.parse(a[by] ?? 0) || 0));
    this.count.textContent = shown.length === all.length ? count(all.length, 'agent') : `${shown.length} of ${count(all.length, 'agent')}`;
    this.empty.hidden = shown.length > 0;
    this.empty.textContent = this.page.state.known ? 'No agents.' : 'Waiting for the fleet…';
    this.#place(shown);
  }

  #states(all) {
    const words = [...new Set(all.map(word))].sort();
    const key = words.join();
    if (this.words === key) return;
    this.words = key;
    const chosen = this.state.value;
    this.state.replaceChildren(el('option', { value: '', text: 'Every state' }), ...words.map((w) => el('option', { value: w, text: visible(w) })));
    this.state.value = words.includes(chosen) ? chosen : '';
  }

  // place puts the cards in order, moving only those that are elsewhere.
  #place(shown) {
    const groups = new Map();
    for (const a of shown) {
      const name = sizes[this.size].grid ? '' : group(a);
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(a);
    }
    const names = [...groups.keys()].sort(compare);
    const key = JSON.stringify(names);
    if (this.names !== key) {
      this.names = key;
      this.groups.replaceChildren(...names.map((n) => el('section', { 'aria-label': heading(n) || 'Agents' },
        n ? el('h2', { class: 'group', text: heading(n) }) : null, el('div', { class: 'cards' }))));
    }
    const there = new Set(shown.map((a) => a.id));
    names.forEach((n, i) => {
      const box = this.groups.children[i].querySelector('.cards');
      groups.get(n).forEach((a, j) => {
        const card = this.#card(a);
        if (box.children[j] !== card.element) box.insertBefore(card.element, box.children[j] ?? null);
      });
    });
    for (const [id, card] of this.#cards) {
      if (there.has(id)) continue;
      card.element.remove();
      this.observer.unobserve(card.element);
      if (card.thumb) this.space.unobserve(card.thumb);
      this.#cards.delete(id);
      this.#seen.delete(id);
    }
    this.#span();
  }

  // span gives each group as many columns as it has cards, or all.
  #span() {
    const sections = [...this.groups.children];
    const key = [this.size, this.groups.clientWidth, ...sections.map((s) => s.lastElementChild.childElementCount)].join();
    if (this.spans === key || !this.groups.clientWidth) return;
    this.spans = key;
    for (const s of sections) s.style.setProperty('--span', 1);
    const columns = getComputedStyle(this.groups).gridTemplateColumns.split(' ').length;
    for (const s of sections) s.style.setProperty('--span', Math.min(columns, s.lastElementChild.childElementCount));
  }

  #card(agent) {
    let card = this.#cards.get(agent.id);
    if (!card) {
      card = this.#make(agent);
      this.#cards.set(agent.id, card);
      this.observer.observe(card.element);
      if (card.thumb) this.space.observe(card.thumb);
    }
    if (card.agent !== agent) {
      card.agent = agent;
      this.#fill(card);
    }
    return card;
  }

  #make(agent) {
    const screen = sizes[this.size].crop ? new Screen() : null;
    const thumb = screen && el('div', { class: 'thumb', 'data-thumb': agent.id }, screen.canvas);
    const part = { head: el('div', { class: 'head' }), last: el('p', { class: 'last' }) };
    const element = el('a', { class: 'card agent', 'data-nav': true, 'data-agent': agent.id, href: `#/agent/${encodeURIComponent(agent.id)}` },
      part.head, thumb, part.last);
    return { element, screen, thumb, ...part };
  }

  #fill({ element, head, last, agent, screen }) {
    const w = word(agent);
    element.className = `card agent ${colour(w)}`;
    const name = line(agent.name);
    element.setAttribute('aria-label', `${name}: ${w}${agent.question ? `, asks: ${line(agent.question.prompt)}` : ''}`);
    screen?.canvas.setAttribute('aria-label', `Screen of ${name}`);
    const facts = [agent.provider, agent.host, agent.restarts ? count(agent.restarts, 'restart') : '', agent.queued ? `${agent.queued} queued` : ''];
    head.replaceChildren(el('span', { class: 'name', text: name }), el('span', { class: `badge ${colour(w)}`, text: w, title: agent.source ? `from ${agent.source}` : '' }),
      el('span', { class: 'dim grow facts', text: line(facts.filter(Boolean).join(' · ')) }), since(w === 'unknown' && agent.seen ? agent.seen : agent.since));
    const text = agent.question ? agent.question.prompt : agent.error || agent.lastLine || agent.message || '';
    last.textContent = line(text);
    last.className = `last ${agent.question ? 'hot' : 'dim'}`;
  }

  #visible(entries) {
    for (const e of entries) {
      if (e.isIntersecting) this.#seen.add(e.target.dataset.agent);
      else this.#seen.delete(e.target.dataset.agent);
    }
    this.#look();
  }

  // look asks for the screens that are in view.
  #look() {
    const { crop, rate } = sizes[this.size];
    this.page.conn.look(crop ? [...this.#seen].map((id) => ({ id, rate, crop })) : []);
  }

  screenOf(id) { return this.#cards.get(id)?.screen; }

  screen(u) { this.#cards.get(u.id)?.screen?.apply(u); }

  key(key) {
    if (key === '/') {
      this.filter.focus();
      return true;
    }
    if (key === 'g') {
      const names = Object.keys(sizes);
      this.resize(names[(names.indexOf(this.size) + 1) % names.length]);
      return true;
    }
    const id = document.activeElement?.closest('[data-agent]')?.dataset.agent;
    return id ? this.page.agentKey(key, id) : false;
  }
}
