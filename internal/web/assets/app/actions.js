// What a person does to agents: the same from every page of the page.
import { el, line, visible } from './text.js';
import { ask, confirm, note } from './dialog.js';

const verbs = { interrupt: 'Interrupt', restart: 'Restart', stop: 'Stop', suspend: 'Suspend', resume: 'Resume', start: 'Start', seen: 'Mark as seen' };
const destructive = new Set(['restart', 'stop', 'suspend']);

export class Actions {
  constructor(conn, state) {
    this.conn = conn;
    this.state = state;
  }

  // answer asks once, then answers the question as it was shown.
  async answer(id, question, option, text) {
    const name = line(this.state.name(id));
    const prompt = el('div', {}, el('p', { class: 'dim', text: visible(question.prompt) }));
    const said = option === undefined ? text : option;
    const yes = await ask(`Answer “${line(said)}” to ${name}?`, prompt, [{ text: 'Cancel', value: null }, { text: 'Answer', value: true, main: true }]);
    if (yes !== true) return;
    const answer = { request: question.request };
    if (option === undefined) answer.text = text;
    else answer.option = option;
    try {
      await this.conn.call('answer', { id, answer });
      note(`${name}: answered “${said}”`);
    } catch (e) {
      note(`${name}: not answered: ${e.code === 'changed' ? 'the question has changed since' : e.message}`, false);
    }
  }

  // nudge opens the composer. A receipt that is not submitted stays.
  async nudge(id) {
    const name = line(this.state.name(id));
    const text = el('textarea', { rows: 6, id: 'nudge-text', 'aria-label': `Message to ${name}`, placeholder: 'Message', autofocus: true });
    const hint = el('p', { class: 'dim', text: 'Ctrl+Enter sends now.' });
    const choice = await ask(`Message to ${name}`, [text, hint], [
      { text: 'Cancel', value: null }, { text: 'Send when it is idle', value: 'queue' }, { text: 'Send now', value: 'nudge', main: true },
    ]);
    if (!choice || !text.value.trim()) return;
    try {
      const got = await this.conn.call(choice, { id, text: text.value });
      if (choice === 'queue') note(`${name}: the message waits until it is idle`);
      else note(receipt(name, got), got.state === 'submitted');
    } catch (e) {
      note(`${name}: ${e.message}`, false);
    }
  }

  async do(id, action) {
    const name = line(this.state.name(id));
    if (destructive.has(action) && !await confirm(`${verbs[action]} ${name}?`, '', verbs[action])) return;
    try {
      await this.conn.call('do', { id, action });
      note(`${name}: ${verbs[action].toLowerCase()} done`);
    } catch (e) {
      note(`${name}: ${action}: ${e.message}`, false);
    }
  }

  // message cancels or retries a queued message or a dead letter.
  async message(id, what) {
    if (what === 'cancel' && !await confirm('Forget this message?', '', 'Forget')) return;
    try {
      await this.conn.call(what, { message: id });
      note(what === 'retry' ? 'the message is queued again' : 'the message is forgotten');
    } catch (e) {
      note(`${what}: ${e.message}`, false);
    }
  }

  // question shows what an agent asks, with a button for each option.
  question(agent) {
    const q = agent.question;
    const buttons = (q.options ?? []).map((option, i) => el('button', {
      class: `option${option === q.marked ? ' marked' : ''}`, 'data-option': i + 1, disabled: this.conn.readOnly,
      onclick: () => this.answer(agent.id, q, option),
    }, i < 9 ? el('kbd', { text: String(i + 1) }) : null, el('span', { text: visible(option) })));
    // The lines above may end with the question itself.
    const prompt = visible(q.prompt);
    const all = visible(q.context ?? '').trimEnd();
    const context = all.endsWith(prompt) ? all.slice(0, all.length - prompt.length).trimEnd() : all;
    const box = el('div', { class: 'question', role: 'group', 'aria-label': `Question of ${line(agent.name)}` },
      context ? el('pre', { class: 'context', text: context }) : null,
      el('p', { class: 'prompt', text: prompt }), el('div', { class: 'options' }, buttons));
    if (q.text && !this.conn.readOnly) {
      const text = el('input', { 'aria-label': 'Answer', placeholder: 'Answer' });
      const send = () => { if (text.value) this.answer(agent.id, q, undefined, text.value); };
      text.addEventListener('keydown', (e) => { if (e.key === 'Enter') send(); });
      box.append(el('div', { class: 'row' }, text, el('button', { text: 'Answer', onclick: send })));
    }
    return box;
  }

  // buttons are what can be done to an agent now.
  buttons(agent) {
    if (this.conn.readOnly) return [];
    return (agent.can ?? []).map((a) => el('button', {
      text: verbs[a] ?? a, 'data-action': a, class: destructive.has(a) ? 'hot' : '', onclick: () => this.do(agent.id, a),
    }));
  }
}

function receipt(name, r) {
  const words = [r.state, r.by && `by ${r.by}`, r.detail, r.changed].filter(Boolean).join('; ');
  return `${name}: ${words}`;
}
