// One agent's terminal: xterm.js on the attach stream. It only looks, at the
// agent's own size, until control is taken; then it types and has its own size.
import { Terminal } from '/vendor/xterm.mjs';
import { FitAddon } from '/vendor/addon-fit.mjs';
import { WebglAddon } from '/vendor/addon-webgl.mjs';
import { SearchAddon } from '/vendor/addon-search.mjs';
import { UnicodeGraphemesAddon } from '/vendor/addon-unicode-graphemes.mjs';
import { WebLinksAddon } from '/vendor/addon-web-links.mjs';
import { el, openLink } from './text.js';
import * as theme from './theme.js';

const family = getComputedStyle(document.documentElement).getPropertyValue('--mono').trim() || 'monospace';
const ackEvery = 64 << 10;
const encoder = new TextEncoder();

// make makes an xterm.js with our addons in an element that is in the page.
export function make(box, options = {}) {
  const term = new Terminal({
    allowProposedApi: true, fontFamily: family, fontSize: 14, scrollback: 5000, theme: theme.xterm(), cursorBlink: false, minimumContrastRatio: 3,
    linkHandler: { activate: (_, uri) => openLink(uri), allowNonHttpProtocols: false }, ...options,
  });
  const fit = new FitAddon(), search = new SearchAddon();
  term.loadAddon(fit);
  term.loadAddon(search);
  term.loadAddon(new UnicodeGraphemesAddon());
  term.loadAddon(new WebLinksAddon((_, uri) => openLink(uri)));
  term.open(box);
  // Small letters are drawn by elements: the WebGL renderer shows none of them.
  let gl = null;
  const smooth = () => {
    const wanted = term.options.fontSize >= 8;
    if (wanted === Boolean(gl)) return;
    if (!wanted) {
      gl.dispose();
      gl = null;
      return;
    }
    try {
      gl = new WebglAddon();
      gl.onContextLoss(() => { gl?.dispose(); gl = null; });
      term.loadAddon(gl);
    } catch { gl = null; } // no WebGL here
  };
  smooth();
  const undo = theme.onChange(() => { term.options.theme = theme.xterm(); });
  return { term, fit, search, smooth, dispose: () => { undo(); term.dispose(); } };
}

// fontFor is the size at which a terminal fills a box; a box scrolls if its terminal
// could not be read then. On a phone letters may be small: one can zoom.
export function fontFor(box, cols, rows) {
  const width = (box.clientWidth - 34) / cols / 0.602;
  const height = Math.max(9, (box.clientHeight - 18) / rows / 1.2);
  return Math.max(box.clientWidth < 600 ? 5 : 8, Math.min(15, Math.floor(Math.min(width, height) * 2) / 2));
}

// AgentTerminal attaches to an agent in a box. Events: 'control' when control was
// taken or released, 'unsupported' if it cannot be attached, 'ended'.
export class AgentTerminal extends EventTarget {
  #stream = null;
  #unacked = 0;
  #retry = 0;
  #prefix = false;
  controls = false;

  constructor(conn, id, box) {
    super();
    Object.assign(this, { conn, id, box, size: null });
    this.x = make(box, { disableStdin: true });
    this.term = this.x.term;
    this.term.onData((text) => this.#type(encoder.encode(text)));
    this.term.onBinary((text) => this.#type(Uint8Array.from(text, (c) => c.charCodeAt(0))));
    this.term.attachCustomKeyEventHandler((e) => this.#key(e));
    this.observer = new ResizeObserver(() => this.#layout());
    this.observer.observe(box);
    this.again = () => this.attach();
    conn.addEventListener('connected', this.again);
  }

  // agentSize tells the size of the agent's own screen.
  agentSize(cols, rows) {
    if (this.size?.cols === cols && this.size?.rows === rows) return;
    this.size = { cols, rows };
    this.#layout();
    if (!this.#stream && !this.ended) this.attach();
  }

  #layout() {
    if (!this.size || !this.box.isConnected) return;
    if (this.controls) {
      if (this.term.options.fontSize !== 14) this.term.options.fontSize = 14;
      this.x.fit.fit();
    } else {
      this.term.options.fontSize = fontFor(this.box, this.size.cols, this.size.rows);
      if (this.term.cols !== this.size.cols || this.term.rows !== this.size.rows) this.term.resize(this.size.cols, this.size.rows);
    }
    this.x.smooth();
    this.#stream?.resize(this.term.cols, this.term.rows);
  }

  attach() {
    clearTimeout(this.#retry);
    this.#stream?.close();
    this.#stream = null;
    if (!this.size || !this.conn.up || this.ended === 'disposed') return;
    this.ended = null;
    this.term.reset();
    this.#layout();
    this.#unacked = 0;
    const stream = this.conn.attach(this.id, { cols: this.term.cols, rows: this.term.rows, take: this.controls }, {
      ondata: (bytes) => this.term.write(bytes, () => this.#processed(stream, bytes.length)),
      onlost: () => { if (this.#stream === stream) this.#stream = null; },
      onend: (m) => { if (this.#stream === stream) this.#end(m); },
    });
    this.#stream = stream;
  }

  #processed(stream, n) {
    if (stream !== this.#stream) return;
    this.#unacked += n;
    if (this.#unacked >= ackEvery || n < 4096) {
      stream.ack(this.#unacked);
      this.#unacked = 0;
    }
  }

  #end(m) {
    this.#stream = null;
    if (m.code === 'unsupported') {
      this.ended = m.code;
      this.dispatchEvent(new Event('unsupported'));
      return;
    }
    this.ended = 'ended';
    if (this.controls) this.control(false);
    this.dispatchEvent(new MessageEvent('ended', { data: m.why ?? '' }));
    this.#retry = setTimeout(() => this.attach(), 2000); // it may have been restarted
  }

  control(take) {
    if (this.controls === take) return;
    this.controls = take;
    this.#prefix = false;
    this.term.options.disableStdin = !take;
    this.term.options.cursorBlink = take;
    if (!this.ended) this.attach();
    if (take) this.term.focus();
    else this.term.blur();
    this.dispatchEvent(new Event('control'));
  }

  // key handles the keys of gc attach: ctrl-b d detaches, ctrl-b ctrl-b is one.
  #key(e) {
    if (!this.controls) return false; // the page's own keys
    if (e.type !== 'keydown' || ['Control', 'Shift', 'Alt', 'Meta'].includes(e.key)) return true;
    const isPrefix = e.ctrlKey && !e.altKey && !e.metaKey && e.key === 'b';
    if (this.#prefix) {
      this.#prefix = false;
      if (e.key === 'd' && !e.ctrlKey && !e.altKey && !e.metaKey) {
        e.preventDefault();
        this.control(false);
        return false;
      }
      this.#type(new Uint8Array([2]));
      return !isPrefix;
    }
    if (isPrefix) {
      this.#prefix = true;
      return false;
    }
    return true;
  }

  #type(bytes) {
    if (this.controls) this.#stream?.type(bytes);
  }

  // press types a key of the row of keys that phones lack.
  press(text) {
    this.#type(encoder.encode(text));
    this.term.focus();
  }

  dispose() {
    this.ended = 'disposed';
    clearTimeout(this.#retry);
    this.conn.removeEventListener('connected', this.again);
    this.observer.disconnect();
    this.#stream?.close();
    this.x.dispose();
  }
}

// keyRow are the keys that a phone's keyboard lacks.
export function keyRow(terminal) {
  const keys = [['Esc', '\x1b'], ['Tab', '\t'], ['Ctrl-C', '\x03'], ['↑', '\x1b[A'], ['↓', '\x1b[B'], ['←', '\x1b[D'], ['→', '\x1b[C'], ['Enter', '\r']];
  return el('div', { class: 'keyrow row', role: 'group', 'aria-label': 'Keys' }, keys.map(([name, text]) => el('button', {
    text: name, 'aria-label': `Press ${name}`, onclick: () => terminal.press(text),
  })));
}
