// The page: one connection, one state, one view at a time, chosen by the URL.
import { count, el, line, span, tick } from './text.js';
import { Connection } from './conn.js';
import { State } from './state.js';
import { Actions } from './actions.js';
import { AttentionView } from './attention.js';
import { FleetView } from './fleet.js';
import { AgentView } from './agent.js';
import { HistoryView } from './history.js';
import { EventsView, CommandsView } from './lists.js';
import { RecordingView } from './recording.js';
import { listen, showHelp } from './keys.js';
import { ask } from './dialog.js';
import * as notify from './notify.js';
import * as theme from './theme.js';
import { secret } from './secret.js';

const links = [['', 'Needs you', 'a'], ['fleet', 'Fleet', 'f'], ['events', 'Events', 'e'], ['commands', 'Commands', 'b']];

class Page {
  events = [];

  constructor(conn) {
    this.conn = conn;
    this.state = new State();
    this.actions = new Actions(conn, this.state);
    this.views = { '': new AttentionView(this), fleet: new FleetView(this), events: new EventsView(this), commands: new CommandsView(this) };
    this.main = document.getElementById('main');
    conn.addEventListener('fleet', (e) => this.state.take(e.data));
    conn.addEventListener('screen', (e) => this.view.screen?.(e.data.screen));
    conn.addEventListener('event', (e) => {
      this.events.push(e.data.event);
      this.events.splice(0, this.events.length - 1000);
      if (this.view === this.views.events) this.view.event(e.data.event);
    });
    conn.addEventListener('status', () => this.status());
    conn.addEventListener('revoked', () => location.replace('/'));
    this.state.addEventListener('change', () => this.changed());
    window.addEventListener('hashchange', () => this.route());
    navigator.serviceWorker?.addEventListener('message', (e) => { location.hash = `#/agent/${encodeURIComponent(e.data.agent)}`; });
    setInterval(() => { tick(); this.status(); }, 1000);
    listen(this);
    this.tools();
    this.route();
  }

  // route shows the view that the URL names.
  route() {
    const [, name = '', id = ''] = (location.hash.match(/^#\/([^/]*)\/?(.*)$/) ?? []).map((s) => decodeURIComponent(s));
    const make = { agent: AgentView, history: HistoryView, recording: RecordingView }[name];
    const next = make ? new make(this, id) : this.views[name] ?? this.views[''];
    this.view?.hide?.();
    this.view = next;
    this.name = make || this.views[name] ? name : '';
    this.main.replaceChildren(next.element);
    this.main.setAttribute('aria-label', next.title);
    window.scrollTo(0, 0);
    next.show();
    this.nav();
  }

  changed() {
    this.view.update?.();
    notify.update(this.state);
    this.nav();
    this.status();
  }

  nav() {
    const needed = this.state.attention.length;
    const key = `${this.name} ${needed}`;
    if (key === this.navKey) return;
    this.navKey = key;
    document.getElementById('nav').replaceChildren(...links.map(([name, text, k]) => el('a', {
      href: `#/${name}`, 'aria-current': name === this.name ? 'page' : null, title: k,
    }, text, name === '' && needed ? el('b', { class: 'count', text: String(needed), 'aria-label': count(needed, 'agent') }) : null)));
  }

  // status says what the page shows, and that a server is lost.
  status() {
    const s = this.state.snapshot;
    document.getElementById('name').textContent = line([s.name, s.host].filter(Boolean).join(' on ')) || 'gc';
    const lost = document.getElementById('lost');
    let text = '';
    if (!this.conn.up) text = this.conn.lostSince ? `The server of this page is lost (${span(this.conn.lostSince)}). What you see is old. Trying again…` : 'Connecting…';
    else if (s.lost) text = `The fleet is away: ${line(s.lost)}. What you see was last known ${span(s.lostSince)} ago.`;
    else if (s.warning) text = line(s.warning);
    else if (this.conn.readOnly) text = '';
    if (lost.textContent !== text) lost.textContent = text;
    lost.hidden = text === '';
    document.body.classList.toggle('away', !this.conn.up || Boolean(s.lost));
    const readOnly = document.getElementById('readonly');
    if (readOnly) readOnly.hidden = !this.conn.readOnly || !this.conn.up;
  }

  tools() {
    const box = document.getElementById('tools');
    const bell = el('button', { class: 'plain', text: 'Notify me', hidden: notify.asked(), onclick: async () => { await notify.request(); bell.hidden = notify.asked(); } });
    box.replaceChildren(el('span', { id: 'readonly', class: 'badge calm', text: 'read-only', hidden: true }), bell,
      el('button', { class: 'plain', text: 'Another device', onclick: () => this.link() }),
      el('button', { class: 'plain', text: '◐', 'aria-label': 'Dark or light', onclick: () => theme.set(theme.dark() ? 'light' : 'dark') }),
      el('button', { class: 'plain', text: '?', 'aria-label': 'Keys', onclick: showHelp }));
  }

  // link makes a link for another browser.
  async link() {
    const kind = await ask('A link for another device', el('p', { text: 'It opens one browser, once, within a day. Whoever has it gets in.' }),
      [{ text: 'Cancel', value: null }, { text: 'Read-only', value: 'look' }, { text: 'Full', value: 'full', main: true }]);
    if (!kind) return;
    let text;
    try {
      text = `${location.origin}/#token=${await this.conn.call('link', { readOnly: kind === 'look' })}`;
    } catch (e) {
      text = e.message;
    }
    await ask('Open this link there', el('pre', { class: 'selectable', text }), [{ text: 'Close', value: null, main: true }]);
  }

  controls() { return this.view.controls?.() ?? false; }

  back() {
    const [, name, id] = location.hash.match(/^#\/([^/]*)\/?(.*)$/) ?? [];
    if (name === 'history' || name === 'recording') location.hash = `#/agent/${id}`;
    else if (name === 'agent') location.hash = this.from ?? '#/';
  }

  // agentKey is what a key does to an agent, wherever it is shown.
  agentKey(key, id) {
    const to = { h: 'history', r: 'recording' }[key];
    if (to && (key !== 'r' || this.state.agents.get(id)?.recording)) location.hash = `#/${to}/${encodeURIComponent(id)}`;
    else if (this.conn.readOnly) return false;
    else if (key === 'n') this.actions.nudge(id);
    else if (key === 'i') this.actions.do(id, 'interrupt');
    else if (key === 's') this.actions.do(id, 'seen');
    else return false;
    return true;
  }

  key(key) {
    if (this.view.key?.(key)) return true;
    const link = links.find(([, , k]) => k === key);
    if (link) location.hash = `#/${link[0]}`;
    else if (key === 'g') {
      location.hash = '#/fleet';
    } else return false;
    return true;
  }
}

secret().then((s) => {
  if (!s) {
    location.replace('/public/login.html');
    return;
  }
  window.gc = new Page(new Connection(s));
});
