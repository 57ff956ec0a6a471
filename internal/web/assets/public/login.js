// The login page: exchanges the token of the URL's fragment for a session.

const said = document.getElementById('said');
const field = document.getElementById('token');

// tokenOf finds the token in a link, or in what stands after its #.
function tokenOf(text) {
  const at = text.lastIndexOf('token=');
  return at < 0 ? text.trim() : text.slice(at + 6).trim();
}

async function enter(token) {
  const resp = await fetch('/login', {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ token }),
  }).catch((e) => ({ ok: false, text: async () => e.message }));
  if (!resp.ok) {
    said.textContent = (await resp.text()).trim();
    return;
  }
  const { secret } = await resp.json();
  sessionStorage.setItem('gc-secret', secret);
  location.replace('/');
}

const token = location.hash.includes('token=') ? tokenOf(location.hash) : '';
history.replaceState(null, '', '/'); // out of the address bar and the history
if (token) enter(token);
else said.textContent = 'This browser has no session.';

document.getElementById('enter').addEventListener('click', () => enter(tokenOf(field.value)));
field.addEventListener('keydown', (e) => { if (e.key === 'Enter') enter(tokenOf(field.value)); });
