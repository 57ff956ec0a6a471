// What the page knows of the fleet, as the server sent it last.

export class State extends EventTarget {
  agents = new Map();
  order = [];
  attention = [];
  messages = [];
  snapshot = {};
  known = false;

  // take applies a fleet message: all agents first, then those that changed.
  take(m) {
    this.snapshot = m.snapshot;
    this.attention = m.snapshot.attention ?? [];
    this.messages = m.snapshot.messages ?? [];
    for (const a of m.agents ?? []) this.agents.set(a.id, a);
    if (m.order) {
      this.order = m.order;
      const there = new Set(m.order);
      for (const id of this.agents.keys()) if (!there.has(id)) this.agents.delete(id);
    }
    this.known = true;
    this.dispatchEvent(new Event('change'));
  }

  list() {
    return this.order.map((id) => this.agents.get(id)).filter(Boolean);
  }

  name(id) {
    return this.agents.get(id)?.name ?? id;
  }
}

// Classes of statuses, for colours: hot needs somebody, warm is odd, good works.
const classes = {
  blocked: 'hot', crashed: 'hot', quarantined: 'hot', error: 'hot', lost: 'hot', dead: 'hot', stuck: 'warm', unknown: 'warm', draining: 'warm', starting: 'cool',
  working: 'good', done: 'cool', idle: 'calm', suspended: 'calm', stopped: 'calm', exited: 'calm',
};
export const colour = (word) => classes[word] ?? 'calm';

// word is the one word for an agent: its status while it runs, else its state.
export function word(agent) {
  return agent.state === 'running' && agent.status ? agent.status : agent.state;
}
