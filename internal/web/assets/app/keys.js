// Keys of the whole page: those of gc ui.
import { el } from './text.js';
import { ask } from './dialog.js';

const help = [
  ['j k, arrows', 'move'], ['Enter', 'open'], ['Esc', 'back'], ['a', 'who needs you'], ['f', 'fleet'], ['e', 'events'], ['b', 'background commands'],
  ['g', 'size of the screens'], ['/', 'filter, search'], ['1–9', 'pick an option'], ['n', 'message'], ['t', 'take control'], ['Ctrl-B d', 'release control'],
  ['i', 'interrupt'], ['s', 'mark as seen'], ['h', 'history'], ['r', 'recording'], ['x', 'explain'], ['?', 'this help'],
];

export function showHelp() {
  const rows = help.map(([key, text]) => [el('dt', {}, el('kbd', { text: key })), el('dd', { text })]);
  return ask('Keys', el('dl', { class: 'keys' }, rows), [{ text: 'Close', value: null, main: true }]);
}

// items are what the movement keys go through.
const items = () => [...document.querySelectorAll('main [data-nav]')].filter((e) => e.offsetParent);

function move(e) {
  const all = items();
  const at = all.indexOf(document.activeElement?.closest('[data-nav]'));
  if (!all.length) return;
  let to = at;
  if (at < 0) to = 0;
  else if (e.key === 'j' || e.key === 'ArrowRight') to = at + 1;
  else if (e.key === 'k' || e.key === 'ArrowLeft') to = at - 1;
  else if (e.key === 'Home') to = 0;
  else if (e.key === 'End') to = all.length - 1;
  else to = vertical(all, at, e.key === 'ArrowDown');
  const target = all[Math.max(0, Math.min(all.length - 1, to))];
  target.focus();
  target.scrollIntoView({ block: 'nearest' });
}

// vertical finds the nearest item of the next row.
function vertical(all, at, down) {
  const from = all[at].getBoundingClientRect();
  let best = at, distance = Infinity;
  all.forEach((e, i) => {
    const r = e.getBoundingClientRect();
    const dy = down ? r.top - from.top : from.top - r.top;
    if (dy < 4) return;
    const d = dy * 3 + Math.abs(r.left - from.left);
    if (d < distance) [best, distance] = [i, d];
  });
  return best;
}

const moves = new Set(['j', 'k', 'ArrowDown', 'ArrowUp', 'ArrowLeft', 'ArrowRight', 'Home', 'End']);

// listen calls view.key(key) for keys that are the view's, then the page's own.
export function listen(page) {
  document.addEventListener('keydown', (e) => {
    const t = e.target;
    if (e.ctrlKey || e.altKey || e.metaKey || document.querySelector('dialog[open]')) return;
    const typing = t.matches?.('input:not([type=range]), select, textarea');
    if (e.key === 'Escape' && !page.controls()) {
      if (typing) t.blur();
      else page.back();
      return;
    }
    if (typing || page.controls() || (t.matches?.('input[type=range]') && e.key.startsWith('Arrow'))) return;
    if (page.key(e.key)) e.preventDefault();
    else if (moves.has(e.key)) {
      e.preventDefault();
      move(e);
    } else if (e.key === '?') showHelp();
  });
}
