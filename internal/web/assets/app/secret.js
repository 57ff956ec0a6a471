// The second secret of this browser's session. A new tab asks the open ones of
// this origin for it; no other origin can.

const channel = new BroadcastChannel('gc-secret');

export async function secret() {
  const mine = sessionStorage.getItem('gc-secret') ?? await fromOthers();
  if (!mine) return null;
  sessionStorage.setItem('gc-secret', mine);
  channel.onmessage = (e) => { if (e.data === 'want') channel.postMessage({ secret: mine }); };
  return mine;
}

function fromOthers() {
  return new Promise((resolve) => {
    channel.onmessage = (e) => { if (e.data?.secret) resolve(e.data.secret); };
    channel.postMessage('want');
    setTimeout(() => resolve(null), 500);
  });
}
