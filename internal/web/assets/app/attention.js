// Who needs you: oldest first, each with what can be done about it.
import { el, line, visible, since } from './text.js';
import { colour } from './state.js';

const kinds = {
  question: 'asks', login: 'login', limited: 'limited', stuck: 'stuck', error: 'error', crashed: 'crashed', quarantined: 'quarantined', failing: 'failing',
  lost: 'lost', 'dead-letter': 'dead letter', 'dead-end': 'dead letter', done: 'done',
};
const colours = { question: 'hot', login: 'hot', 'dead-letter': 'hot', 'dead-end': 'hot', failing: 'hot', limited: 'warm', done: 'cool' };

export class AttentionView {
  #items = new Map();

  constructor(page) {
    this.page = page;
    this.title = 'Needs you';
    this.list = el('ol', { class: 'attention', 'aria-label': 'Needs you' });
    this.empty = el('p', { class: 'empty dim' });
    this.element = el('section', { 'aria-label': 'Needs you' }, this.empty, this.list);
  }

  show() { this.update(); }

  update() {
    const { state } = this.page;
    this.empty.textContent = state.known ? 'Nobody needs you.' : 'Waiting for the fleet…';
    this.empty.hidden = state.attention.length > 0;
    const there = new Set();
    state.attention.forEach((a, i) => {
      there.add(a.id);
      const agent = state.agents.get(a.agent);
      const key = JSON.stringify([a, agent?.question, agent?.can, agent?.name, this.page.conn.readOnly]);
      let item = this.#items.get(a.id);
      if (item?.key !== key) {
        const focused = item?.element.contains(document.activeElement);
        const fresh = { key, element: this.#item(a, agent) };
        item?.element.replaceWith(fresh.element);
        this.#items.set(a.id, item = fresh);
        if (focused) fresh.element.querySelector('[data-nav]')?.focus();
      }
      if (this.list.children[i] !== item.element) this.list.insertBefore(item.element, this.list.children[i] ?? null);
    });
    for (const [id, item] of this.#items) {
      if (there.has(id)) continue;
      item.element.remove();
      this.#items.delete(id);
    }
  }

  #item(a, agent) {
    const { actions } = this.page;
    const asks = agent?.question && ['question', 'login'].includes(a.kind);
    const buttons = asks ? [] : agent ? actions.buttons(agent) : [];
    if (a.message && !this.page.conn.readOnly) {
      buttons.unshift(el('button', { text: 'Retry', class: 'main', onclick: () => actions.message(a.message, 'retry') }),
        el('button', { text: 'Forget', onclick: () => actions.message(a.message, 'cancel') }));
    }
    return el('li', { class: `card ${colours[a.kind] ?? colour(a.kind)}`, 'data-id': a.id },
      el('div', { class: 'head' },
        el('span', { class: `badge ${colours[a.kind] ?? colour(a.kind)}`, text: kinds[a.kind] ?? visible(a.kind) }),
        el('a', { 'data-nav': true, 'data-agent': a.agent, class: 'name', href: `#/agent/${encodeURIComponent(a.agent)}`, text: line(this.page.state.name(a.agent)) }),
        el('span', { class: 'dim grow', text: where(agent) }), since(a.since)),
      asks ? actions.question(agent) : el('p', { class: 'said', text: visible(a.text) }),
      !asks && a.hint ? el('p', { class: 'dim' }, el('code', { text: visible(a.hint) })) : null,
      buttons.length ? el('div', { class: 'row' }, buttons) : null);
  }

  // key picks an option of the selected agent; with none selected, of the first that asks.
  key(key) {
    const item = document.activeElement?.closest('.attention > li') ?? this.list.querySelector('li:has(.option)');
    const id = item?.querySelector('[data-agent]')?.dataset.agent;
    if (!id) return false;
    if (/^[1-9]$/.test(key)) {
      item.querySelector(`[data-option="${key}"]`)?.click();
      return true;
    }
    return this.page.agentKey(key, id);
  }
}

export function where(agent) {
  return agent ? line([agent.rig, agent.pool, agent.host].filter(Boolean).join(' · ')) : '';
}
