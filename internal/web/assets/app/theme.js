// Dark and light, of the page and of terminals.

const query = matchMedia('(prefers-color-scheme: dark)');
const listeners = new Set();

export const dark = () => (document.documentElement.dataset.theme ?? (query.matches ? 'dark' : 'light')) === 'dark';

// set chooses 'dark', 'light', or null for that of the system.
export function set(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  if (theme) localStorage.setItem('gc-theme', theme);
  else localStorage.removeItem('gc-theme');
  for (const f of listeners) f();
}

export function onChange(f) {
  listeners.add(f);
  return () => listeners.delete(f);
}

set(localStorage.getItem('gc-theme'));
query.addEventListener('change', () => { for (const f of listeners) f(); });

const darkAnsi = ['#2b303b', '#f0727a', '#8fce7e', '#e8c46a', '#79a8f7', '#c99bf0', '#6bcbd0', '#cdd3de',
  '#6b7484', '#ff9aa0', '#b0e8a0', '#ffdf8f', '#a3c5ff', '#e0bfff', '#95e6ea', '#ffffff'];
const lightAnsi = ['#1c2026', '#b3261e', '#1a6e3c', '#8a5a00', '#2450b8', '#8a2fa0', '#0d6d78', '#6b7280',
  '#4b5260', '#d1352b', '#23884c', '#a36b00', '#3f6fe0', '#a845c0', '#13818e', '#9aa1ac'];

// colours are those of terminals now.
export function colours() {
  return dark()
    ? { background: '#0c0e12', foreground: '#dfe3ea', cursor: '#dfe3ea', selection: '#37527f', ansi: darkAnsi }
    : { background: '#ffffff', foreground: '#1c2026', cursor: '#1c2026', selection: '#bcd3ff', ansi: lightAnsi };
}

// xterm is the theme of xterm.js.
export function xterm() {
  const c = colours();
  const names = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'];
  const theme = { background: c.background, foreground: c.foreground, cursor: c.cursor, cursorAccent: c.background, selectionBackground: c.selection };
  names.forEach((n, i) => {
    theme[n] = c.ansi[i];
    theme[`bright${n[0].toUpperCase()}${n.slice(1)}`] = c.ansi[i + 8];
  });
  return theme;
}

const steps = [0, 95, 135, 175, 215, 255];

// resolve is the colour of a cell as CSS: '' is the default, an index, or #rrggbb.
export function resolve(color, fallback, ansi) {
  if (!color) return fallback;
  if (color[0] === '#') return color;
  const n = Number(color);
  if (n < 16) return ansi[n];
  if (n < 232) {
    const i = n - 16;
    return `rgb(${steps[Math.floor(i / 36)]},${steps[Math.floor(i / 6) % 6]},${steps[i % 6]})`;
  }
  const grey = 8 + 10 * (n - 232);
  return `rgb(${grey},${grey},${grey})`;
}

// legible is the default ink on a ground that a program set: dark or light as that needs.
export function legible(ink, bg, ground) {
  if (bg === ground) return ink;
  const parts = bg[0] === '#' ? [1, 3, 5].map((i) => parseInt(bg.slice(i, i + 2), 16)) : bg.match(/\d+/g).map(Number);
  const light = 0.3 * parts[0] + 0.59 * parts[1] + 0.11 * parts[2];
  return light > 140 ? '#1c2026' : '#f2f4f8';
}
