// A recording as a film: a scrubber, speed, and pauses skipped.
import { el, line } from './text.js';
import { make, fontFor } from './terminal.js';

const longest = 64 << 20; // characters; a longer recording is cut
const pause = 1.5; // seconds that a longer pause lasts

export class RecordingView {
  #frame = 0;

  constructor(page, id) {
    this.page = page;
    this.id = id;
    this.box = el('div', { class: 'screen', role: 'region', 'aria-label': 'Recording' });
    this.play = el('button', { text: 'Play', class: 'main', disabled: true, onclick: () => this.toggle() });
    this.slider = el('input', { type: 'range', min: 0, max: 0, step: 'any', value: 0, 'aria-label': 'Position', class: 'grow', oninput: () => this.seek(Number(this.slider.value)) });
    this.time = el('span', { class: 'dim time' });
    this.speed = el('select', { 'aria-label': 'Speed' }, [0.5, 1, 2, 4, 8, 16].map((s) => el('option', { value: s, text: `${s}×` })));
    this.speed.value = '1';
    this.note = el('p', { class: 'dim', role: 'status', hidden: true });
    this.element = el('section', { class: 'one' },
      el('div', { class: 'row bar' }, el('a', { class: 'button', href: `#/agent/${encodeURIComponent(id)}`, text: 'Back to the terminal' }), this.play, this.slider, this.time, this.speed), this.note, this.box);
  }

  get title() { return `Recording of ${line(this.page.state.name(this.id))}`; }

  async show() {
    this.time.textContent = 'Reading…';
    const stop = this.stop = new AbortController();
    try {
      const resp = await fetch(`/recording?id=${encodeURIComponent(this.id)}`, { headers: { 'Gc-Secret': this.page.conn.secret }, signal: stop.signal });
      if (!resp.ok) throw new Error((await resp.text()).trim());
      const { text, cut } = await beginning(resp.body);
      this.#read(text);
      if (!cut) return;
      this.note.textContent = `Only the beginning: this is ${minutes(this.whole)} of it. gc session record has all.`;
      this.note.hidden = false;
    } catch (e) {
      if (e.name !== 'AbortError') this.time.textContent = e.message;
    }
  }

  hide() {
    this.stop?.abort();
    cancelAnimationFrame(this.#frame);
    this.x?.dispose();
  }

  // read makes a list of [time, kind, data], with long pauses cut.
  #read(text) {
    const lines = text.split('\n').filter(Boolean);
    const head = JSON.parse(lines[0]);
    this.head = head;
    this.list = [];
    let last = 0, cut = 0;
    for (const l of lines.slice(1)) {
      let e;
      try { e = JSON.parse(l); } catch { break; } // the last line of a recording that goes on
      cut += Math.max(0, e[0] - last - pause);
      last = e[0];
      if (e[1] === 'o' || e[1] === 'r') this.list.push([e[0] - cut, e[1], e[2]]);
    }
    this.length = this.list.at(-1)?.[0] ?? 0;
    this.whole = last; // with its pauses
    this.slider.max = this.length;
    this.x = make(this.box, { disableStdin: true, cols: head.width, rows: head.height, fontSize: fontFor(this.box, head.width, head.height) });
    this.play.disabled = false;
    this.at = this.next = 0;
    this.seek(0);
  }

  // seek shows the screen of a time; backwards it begins anew.
  seek(to) {
    if (!this.x) return;
    const { term } = this.x;
    if (to < this.at) {
      term.reset();
      term.resize(this.head.width, this.head.height);
      this.next = 0;
    }
    let text = '';
    for (; this.next < this.list.length && this.list[this.next][0] <= to; this.next++) {
      const [, kind, data] = this.list[this.next];
      if (kind === 'o') text += data;
      else {
        term.write(text);
        text = '';
        const [cols, rows] = data.split('x').map(Number);
        if (cols && rows) term.write('', () => term.resize(cols, rows));
      }
    }
    if (text) term.write(text);
    this.at = to;
    this.slider.value = to;
    this.time.textContent = `${minutes(to)} / ${minutes(this.length)}`;
    this.slider.setAttribute('aria-valuetext', this.time.textContent);
  }

  toggle() {
    this.playing = !this.playing;
    this.play.textContent = this.playing ? 'Pause' : 'Play';
    if (!this.playing) return;
    if (this.at >= this.length) this.seek(0);
    let last = performance.now();
    const step = (now) => {
      if (!this.playing || !this.element.isConnected) return;
      this.seek(Math.min(this.length, this.at + (now - last) / 1000 * Number(this.speed.value)));
      last = now;
      if (this.at >= this.length) this.toggle();
      else this.#frame = requestAnimationFrame(step);
    };
    this.#frame = requestAnimationFrame(step);
  }

  key(key) {
    if (key === ' ' && document.activeElement?.tagName !== 'BUTTON') this.toggle();
    else return false;
    return true;
  }
}

// beginning reads whole lines of a stream, up to the longest recording.
async function beginning(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  const parts = [];
  for (let length = 0; length <= longest;) {
    const { value, done } = await reader.read();
    if (done) return { text: parts.join(''), cut: false };
    parts.push(value);
    length += value.length;
  }
  await reader.cancel();
  const text = parts.join('');
  return { text: text.slice(0, text.lastIndexOf('\n', longest)), cut: true };
}

const minutes = (s) => `${Math.floor(s / 60)}:${String(Math.floor(s % 60)).padStart(2, '0')}`;
