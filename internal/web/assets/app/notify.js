// Tells the person, by the title and by notifications, that somebody needs them.
import { line } from './text.js';

let known = null; // ids of the occasions that were there

export const possible = () => 'Notification' in window && window.isSecureContext;
export const asked = () => !possible() || Notification.permission !== 'default';

// A phone's browser shows notifications by a worker alone. Its URL is the one script
// URL that this page makes; see the policy of the server.
let worker = null;
const policy = window.trustedTypes?.createPolicy('gc-worker', { createScriptURL: () => '/app/worker.js' });
if (possible() && 'serviceWorker' in navigator) {
  navigator.serviceWorker.register(policy?.createScriptURL('') ?? '/app/worker.js').then((r) => { worker = r; }, () => {}); // not with a certificate that is not trusted
}

function show(title, body, tag, agent) {
  if (worker?.active) {
    worker.showNotification(title, { body, tag, data: agent });
    return;
  }
  try {
    const n = new Notification(title, { body, tag });
    n.onclick = () => {
      window.focus();
      location.hash = `#/agent/${encodeURIComponent(agent)}`;
      n.close();
    };
  } catch { /* the title of the page has the number */ }
}

// request asks for the permission, by a click, once.
export const request = () => Notification.requestPermission();

export function update(state) {
  const count = state.attention.length;
  document.title = `${count ? `(${count}) ` : ''}gc — ${line(state.snapshot.name ?? '')}`;
  const fresh = known ? state.attention.filter((a) => !known.has(a.id)) : [];
  known = new Set(state.attention.map((a) => a.id));
  if (!possible() || Notification.permission !== 'granted' || !document.hidden) return;
  for (const a of fresh) show(`${line(state.name(a.agent))}: ${line(a.kind)}`, line(a.text), a.id, a.agent);
}
