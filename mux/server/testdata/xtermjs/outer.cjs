// A terminal without a window: xterm.js fed by the test. Requests and answers are lines
// of JSON: {write: base64} is answered by {reply: base64} for what the terminal says, and
// {state: true} by {state: {...}} once everything before it is drawn.
'use strict';
const { Terminal } = require('@xterm/headless');
const readline = require('node:readline');

// The stack of titles is off by default; without it no one can ask for a title or give it back.
const term = new Terminal({
  cols: +process.argv[2], rows: +process.argv[3], allowProposedApi: true, scrollback: 1000, logLevel: 'off',
  windowOptions: { pushTitle: true, popTitle: true },
});
const say = (o) => process.stdout.write(JSON.stringify(o) + '\n');
let title = '';
term.onTitleChange((t) => { title = t; });
// The headless terminal has no colours of its own: those that a program has set, by number;
// 256 and up are the text's, the background's and the cursor's.
const colors = {};
term._core._inputHandler.onColor((list) => {
  for (const c of list) {
    if (c.type === 1) colors[c.index] = c.color; // SET
    if (c.type === 2 && c.index === undefined) for (const n in colors) if (n < 256) delete colors[n]; // RESTORE of the palette
    if (c.type === 2 && c.index !== undefined) delete colors[c.index];
  }
});
term.onData((d) => say({ reply: Buffer.from(d, 'utf8').toString('base64') }));
term.onBinary((d) => say({ reply: Buffer.from(d, 'latin1').toString('base64') }));

// What a program may have left: modes that the interface tells, and those of the core.
function state() {
  const core = term._core;
  const s = core.coreService, i = core._inputHandler, b = core.buffer, m = core.coreMouseService;
  const tabs = Object.keys(b.tabs).map(Number).filter((x) => b.tabs[x] && x < term.cols).sort((x, y) => x - y);
  return {
    modes: term.modes, buffer: term.buffer.active.type, private: s.decPrivateModes, ansi: s.modes,
    blink: term.options.cursorBlink, shape: term.options.cursorStyle,
    kitty: s.kittyKeyboard, cursorHidden: s.isCursorHidden, mouse: m.activeProtocol, encoding: m.activeEncoding,
    margins: [b.scrollTop, b.scrollBottom],
    pen: [i._curAttrData.fg, i._curAttrData.bg, i._curAttrData.extended.ext, i._curAttrData.extended.urlId],
    erase: [i._eraseAttrDataInternal.fg],
    charset: core._charsetService.glevel, charsets: [0, 1, 2, 3].map((g) => core._charsetService._charsets[g] ? 'other' : 'ascii'),
    title, titles: [i._windowTitle, i._iconName, i._windowTitleStack, i._iconNameStack], tabs, colors: Object.keys(colors),
  };
}

let last = Promise.resolve();
readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const request = JSON.parse(line);
  if (request.write !== undefined) {
    last = new Promise((done) => term.write(Buffer.from(request.write, 'base64'), done));
  } else {
    last.then(() => say({ state: state() }));
  }
});
