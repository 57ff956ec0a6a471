// The one WebSocket of the page: reconnects with back-off, carries calls, screens,
// events and terminals.

const silence = 35_000; // the server sends something every 10 s
const pauses = [250, 500, 1000, 2000, 5000, 10_000];

export class Connection extends EventTarget {
  #ws = null;
  #calls = new Map();
  #terminals = new Map();
  #next = 1;
  #failures = 0;
  #heard = 0;
  #timer = 0;
  #looks = [];
  #after = null;
  up = false;
  readOnly = true;
  lostSince = null;

  constructor(secret) {
    super();
    this.secret = secret;
    setInterval(() => this.#check(), 5000);
    // A page that slept tries at once when it wakes.
    for (const event of ['online', 'focus', 'pageshow']) window.addEventListener(event, () => this.#wake());
    document.addEventListener('resume', () => this.#wake());
    document.addEventListener('visibilitychange', () => { if (!document.hidden) this.#wake(); });
    this.#connect();
  }

  #connect() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    const scheme = location.protocol === 'https:' ? 'wss:' : 'ws:';
    const ws = new WebSocket(`${scheme}//${location.host}/live`);
    ws.binaryType = 'arraybuffer';
    this.#ws = ws;
    this.#heard = Date.now();
    ws.onopen = () => ws.send(JSON.stringify({ secret: this.secret }));
    ws.onmessage = (e) => { if (ws === this.#ws) this.#take(e.data); };
    ws.onclose = (e) => { if (ws === this.#ws) this.#lost(e.code); };
  }

  #lost(code) {
    this.#ws = null;
    for (const call of this.#calls.values()) call.reject(new CallError('lost', 'the server was lost; whether this was done is not known'));
    this.#calls.clear();
    for (const t of this.#terminals.values()) t.onlost?.();
    this.#terminals.clear();
    if (code === 4401) {
      this.dispatchEvent(new Event('revoked'));
      return;
    }
    if (this.#failures > 0) this.#ask();
    this.lostSince ??= new Date().toISOString();
    this.up = false;
    this.dispatchEvent(new Event('status'));
    this.#timer = setTimeout(() => this.#connect(), pauses[Math.min(this.#failures++, pauses.length - 1)] * (0.8 + 0.4 * Math.random()));
  }

  // A server that answers and does not know the session is another one.
  async #ask() {
    const resp = await fetch('/app/secret.js').catch(() => null);
    if (resp?.status === 401) this.dispatchEvent(new Event('revoked'));
  }

  // A connection that says nothing for long is dead, also after a sleep.
  #check() {
    if (this.#ws && Date.now() - this.#heard > silence) {
      const ws = this.#ws;
      this.#lost(0);
      ws.close();
    }
  }

  #wake() {
    if (this.#timer) {
      this.#failures = 0;
      this.#connect();
    } else this.#check();
  }

  #take(data) {
    this.#heard = Date.now();
    if (data instanceof ArrayBuffer) {
      const t = this.#terminals.get(new DataView(data).getUint32(0));
      t?.ondata(new Uint8Array(data, 4));
      return;
    }
    const m = JSON.parse(data);
    switch (m.op) {
      case 'welcome': this.#welcome(m); break;
      case 'result': this.#result(m); break;
      case 'end': {
        const t = this.#terminals.get(m.n);
        this.#terminals.delete(m.n);
        t?.onend?.(m);
        break;
      }
      case 'event': this.#after = m.event.id; // falls through
      default: this.dispatchEvent(new MessageEvent(m.op, { data: m }));
    }
  }

  #welcome(m) {
    Object.assign(this, { up: true, readOnly: m.readOnly, version: m.version, lostSince: null });
    this.#failures = 0;
    this.#send({ op: 'look', looks: this.#looks });
    if (this.#after !== null) this.#send({ op: 'events', after: this.#after });
    this.dispatchEvent(new Event('status'));
    this.dispatchEvent(new Event('connected'));
  }

  #result(m) {
    const call = this.#calls.get(m.n);
    this.#calls.delete(m.n);
    if (m.error) call?.reject(new CallError(m.error.code, m.error.message));
    else call?.resolve(m.value);
  }

  #send(m) {
    if (this.#ws?.readyState === WebSocket.OPEN) this.#ws.send(JSON.stringify(m));
  }

  // call runs a method of the server. Nothing is sent twice.
  call(method, params = {}) {
    if (!this.up) return Promise.reject(new CallError('lost', 'the server is lost'));
    const n = this.#next++;
    return new Promise((resolve, reject) => {
      this.#calls.set(n, { resolve, reject });
      this.#send({ op: 'call', n, method, params });
    });
  }

  // look says which screens the page shows: [{id, rate, crop}].
  look(looks) {
    this.#looks = looks;
    if (this.up) this.#send({ op: 'look', looks });
  }

  // follow asks for events: 'event' is dispatched for each, once.
  follow() {
    if (this.#after !== null) return;
    this.#after = '';
    if (this.up) this.#send({ op: 'events', after: '' });
  }

  // attach opens a terminal; handlers: ondata(bytes), onend({why, code}), onlost().
  attach(id, { cols, rows, take }, handlers) {
    const n = this.#next++;
    this.#terminals.set(n, handlers);
    this.#send({ op: 'attach', n, id, cols, rows, take });
    return {
      type: (bytes) => {
        const m = new Uint8Array(4 + bytes.length);
        new DataView(m.buffer).setUint32(0, n);
        m.set(bytes, 4);
        if (this.#ws?.readyState === WebSocket.OPEN) this.#ws.send(m);
      },
      ack: (count) => this.#send({ op: 'ack', n, bytes: count }),
      resize: (c, r) => this.#send({ op: 'resize', n, cols: c, rows: r }),
      close: () => {
        this.#terminals.delete(n);
        this.#send({ op: 'close', n });
      },
    };
  }
}

export class CallError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}
