// Questions of the page itself, and notes of what was done.
import { el, line } from './text.js';

// ask shows a dialog and returns the value of the chosen button; null if it was
// left. Buttons: [{text, value, main, hot}].
export function ask(title, content, buttons) {
  return new Promise((resolve) => {
    const before = document.activeElement;
    const id = `d${Math.random().toString(36).slice(2)}`;
    const dialog = el('dialog', { 'aria-labelledby': id }, el('h2', { id, text: title }), content);
    const done = (value) => {
      dialog.close();
      dialog.remove();
      before?.focus?.();
      resolve(value);
    };
    const row = el('div', { class: 'row end' }, buttons.map((b) => el('button', {
      text: b.text, class: b.main ? 'main' : b.hot ? 'hot' : '', onclick: () => done(typeof b.value === 'function' ? b.value() : b.value),
    })));
    dialog.append(row);
    dialog.addEventListener('cancel', (e) => { e.preventDefault(); done(null); });
    dialog.addEventListener('keydown', (e) => {
      e.stopPropagation();
      if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) row.querySelector('.main')?.click();
    });
    document.body.append(dialog);
    dialog.showModal();
    (dialog.querySelector('[autofocus], textarea, input') ?? row.querySelector('.main'))?.focus();
  });
}

// confirm asks once; true if it was confirmed.
export async function confirm(title, text, verb) {
  return await ask(title, text ? el('p', { text }) : null, [{ text: 'Cancel', value: null }, { text: verb, value: true, main: true }]) === true;
}

// note shows a line. A good one goes by itself; another one stays until it is
// dismissed.
export function note(text, good = true) {
  const n = el('div', { class: `note ${good ? 'good' : 'hot'}`, role: good ? 'status' : 'alert' }, el('span', { text: line(text) }));
  const button = el('button', { class: 'plain', 'aria-label': 'Dismiss', text: '×', onclick: () => n.remove() });
  n.append(button);
  document.getElementById('receipts').append(n);
  if (good) setTimeout(() => n.remove(), 6000);
}
