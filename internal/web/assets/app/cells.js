// Screens drawn from cells on a canvas: many at once, each repainted at most
// once per frame and only where it changed.
import { colours, legible, resolve } from './theme.js';

const family = getComputedStyle(document.documentElement).getPropertyValue('--mono').trim() || 'monospace';
let advance = 0; // width of a character, in parts of the font's size

function measure() {
  if (!advance) {
    const c = document.createElement('canvas').getContext('2d');
    c.font = `100px ${family}`;
    advance = c.measureText('0'.repeat(10)).width / 1000;
  }
  return advance;
}

const dirty = new Set();
let frame = 0;

function paint() {
  frame = 0;
  for (const s of dirty) s.draw();
  dirty.clear();
}

function later(screen) {
  dirty.add(screen);
  frame ||= requestAnimationFrame(paint);
}

// Screen is one live screen on a canvas.
export class Screen {
  cols = 0; rows = 0; top = 0;
  lines = new Map();
  changed = new Set();
  all = true;
  update = null;

  // box is the space for the picture in CSS pixels: [width, height]; see fit.
  constructor(box = [320, Infinity]) {
    this.box = box;
    this.canvas = document.createElement('canvas');
    this.canvas.className = 'cells';
    this.canvas.setAttribute('role', 'img');
  }

  // apply takes an update of the server.
  apply(u) {
    if (u.full) {
      this.lines.clear();
      this.all = true;
    }
    const top = u.top ?? 0;
    if (u.width !== this.cols || u.height !== this.rows || top !== this.top || u.reverse !== this.update?.reverse) this.all = true;
    if (this.update) this.changed.add(this.update.cursor.row);
    this.changed.add(u.cursor.row);
    Object.assign(this, { cols: u.width, rows: u.height, top, update: u });
    for (const r of u.changed ?? []) {
      this.lines.set(r.y, r.line);
      this.changed.add(r.y);
    }
    later(this);
  }

  // fit draws the screen as large as the space permits.
  fit(box) {
    this.box = box;
    this.repaint();
  }

  repaint() {
    this.all = true;
    later(this);
  }

  // text is what the screen shows, for those who cannot see it.
  text() {
    let out = '';
    for (let y = this.top; y < this.top + this.rows; y++) {
      out += `${(this.lines.get(y)?.runs ?? []).map((r) => r.text).join('')}\n`;
    }
    return out.trimEnd();
  }

  // letters returns the size of the letters and of a cell, in pixels of the device. Rows are
  // whole pixels high; they move together a little before the letters become smaller.
  #letters(ratio) {
    const [width, height] = this.box;
    const size = Math.max(1, width * ratio / this.cols / measure());
    const most = Math.max(1, Math.floor(height * ratio / this.rows));
    const h = Math.min(Math.ceil(size * 1.2), most);
    const fits = Math.min(size, h / 1.05);
    return { h, size: fits, w: fits * measure() };
  }

  draw() {
    const u = this.update;
    if (!u || !this.cols || !this.rows) return;
    const ratio = window.devicePixelRatio || 1;
    const { w, h, size } = this.#letters(ratio);
    const canvas = this.canvas;
    const width = Math.ceil(w * this.cols), height = h * this.rows;
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = width;
      canvas.height = height;
      canvas.style.width = `${width / ratio}px`;
      this.all = true;
    }
    const c = canvas.getContext('2d', { alpha: false });
    c.textBaseline = 'middle';
    const theme = colours();
    const rows = this.all ? Array.from({ length: this.rows }, (_, i) => this.top + i) : this.changed;
    for (const y of rows) {
      if (y >= this.top && y < this.top + this.rows) drawRow(c, this.lines.get(y), (y - this.top) * h, { w, h, size, width, theme, reverse: u.reverse });
    }
    const cursor = u.cursor;
    const y = cursor.row - this.top;
    if (cursor.visible && !u.plain && y >= 0 && y < this.rows) {
      c.globalAlpha = 0.55;
      c.fillStyle = theme.cursor;
      c.fillRect(cursor.col * w, y * h, w, h);
      c.globalAlpha = 1;
    }
    this.all = false;
    this.changed.clear();
  }
}

function drawRow(c, line, y, m) {
  const { theme, reverse } = m;
  let ground = theme.background, ink = theme.foreground;
  if (reverse) [ground, ink] = [ink, ground];
  c.fillStyle = ground;
  c.fillRect(0, y, m.width, m.h);
  let col = 0;
  for (const run of line?.runs ?? []) {
    const s = run.style ?? {};
    let fg = resolve(s.fg, ink, theme.ansi), bg = resolve(s.bg, ground, theme.ansi);
    if (s.inverse) [fg, bg] = [bg, fg];
    const columns = run.columns ? [...run.columns].reduce((n, d) => n + Number(d), 0) : [...run.text].length;
    if (bg !== ground) {
      c.fillStyle = bg;
      c.fillRect(Math.floor(col * m.w), y, Math.ceil(columns * m.w), m.h);
    }
    if (!s.conceal) {
      c.globalAlpha = s.faint ? 0.6 : 1;
      c.fillStyle = s.fg || s.inverse ? fg : legible(fg, bg, ground);
      c.font = `${s.italic ? 'italic ' : ''}${s.bold ? 'bold ' : ''}${m.size}px ${family}`;
      drawText(c, run, col, y + m.h / 2, m.w);
      if (s.underline) c.fillRect(col * m.w, y + m.h - Math.max(1, m.h / 12), columns * m.w, Math.max(1, m.h / 16));
      if (s.strike) c.fillRect(col * m.w, y + m.h / 2, columns * m.w, Math.max(1, m.h / 16));
      c.globalAlpha = 1;
    }
    col += columns;
  }
}

const plain = /^[\x20-\x7e]*$/;

// drawText draws ASCII at once; other characters one by one at their columns, so
// that no font and no direction of writing moves what follows.
function drawText(c, run, col, y, w) {
  if (plain.test(run.text)) {
    if (run.text.trim()) c.fillText(run.text, col * w, y);
    return;
  }
  let i = 0, cell = '', width = 0;
  const flush = () => {
    if (cell.trim()) c.fillText(cell, col * w, y, width * w);
    col += width;
  };
  for (const point of run.text) {
    const columns = run.columns ? Number(run.columns[i]) : 1;
    i++;
    if (columns === 0) {
      cell += point;
      continue;
    }
    flush();
    cell = point;
    width = columns;
  }
  flush();
}
