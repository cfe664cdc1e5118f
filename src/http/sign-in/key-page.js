// The script of the key page: creates, lists, replaces and revokes API keys. A new key is shown once, exists only in
// the document, and is removed when the user leaves the page.

const { csrf, api, speech } = document.body.dataset;
const find = (id) => document.getElementById(id);
const [form, newKey, list, status, dialog] = ['create', 'new-key', 'keys', 'status', 'confirm'].map(find);

async function request(path, { method = 'GET', body } = {}) {
  const headers = { 'X-CSRF-Token': csrf, ...(body && { 'Content-Type': 'application/json' }) };
  const response = await fetch(api + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  if (response.status === 204) return response.headers;
  const result = await response.json();
  if (response.ok) return result;
  if (response.status === 401) throw new Error('Your session has ended. Reload the page to sign in again.');
  const [fieldError] = result.details ?? [];
  throw new Error(fieldError ? `${fieldError.field}: ${fieldError.message}` : result.message);
}

function notify(text, isError = false) {
  status.textContent = text;
  status.classList.toggle('error', isError);
}

/** Runs the action of a button, which is disabled until the action ends. Shows an error. */
async function run(button, action) {
  button.disabled = true;
  try {
    await action();
  } catch (error) {
    notify(error.message, true);
  } finally {
    button.disabled = false;
  }
}

function element(name, properties, ...children) {
  const created = Object.assign(document.createElement(name), properties);
  created.append(...children);
  return created;
}

const day = (time) => new Date(time).toLocaleDateString(undefined, { dateStyle: 'medium' });

function show({ key, name }) {
  find('new-key-name').textContent = name;
  find('new-key-secret').textContent = key;
  find('new-key-curl').textContent = [
    `curl -sSf ${/^[\w./:-]+$/.test(speech) ? speech : `'${speech.replaceAll("'", '%27')}'`} \\`,
    `  -H 'X-API-Key: ${key}' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '{"voice_id":"arthur","text":"Hello.","return_format":"buffer"}' \\`,
    '  -o hello.wav',
  ].join('\n');
  newKey.hidden = false;
  find('new-key-title').focus();
}

function clearNewKey() {
  newKey.hidden = true;
  for (const id of ['new-key-secret', 'new-key-curl', 'new-key-name']) find(id).textContent = '';
}

function toKeySummary({ status, hint, created_at, expires_at, last_used_at, scopes, replaced_by }) {
  const ended = { revoked: 'Revoked', expired: 'Expired' }[status] ?? (replaced_by ? 'Replaced' : '');
  const times = [
    `created ${day(created_at)}`,
    last_used_at ? `last used ${day(last_used_at)}` : 'never used',
    ...(expires_at ? [`${status === 'active' ? 'expires' : 'expired'} ${day(expires_at)}`] : []),
  ];
  return `${ended ? `${ended} · ` : ''}${hint} · ${times.join(', ')} · ${scopes.join(', ')}`;
}

function button(text, name, kind, action) {
  const target = element('button', { type: 'button', textContent: text, className: kind });
  target.setAttribute('aria-label', `${text} ${name}`);
  target.addEventListener('click', () => run(target, action));
  return target;
}

function toItem(key) {
  const { id, name, status, replaced_by } = key;
  const item = element('li', { className: status === 'active' ? '' : 'ended' }, element('h3', { textContent: name }));
  item.append(element('p', { textContent: toKeySummary(key) }));
  if (status !== 'active') return item;
  const replace = button('Replace', name, '', async () => {
    show(await request(`/${id}/rotate`, { method: 'POST', body: {} }));
    notify(`${name} was replaced. The old key works for one more day.`);
    await load();
  });
  const revoke = button('Revoke', name, 'danger', async () => {
    if (!(await isConfirmed(name))) return;
    const count = Number((await request(`/${id}`, { method: 'DELETE' })).get('X-Descendants-Revoked'));
    notify(`${name} is revoked${count > 0 ? `, and with it ${count} other ${count === 1 ? 'key' : 'keys'}` : ''}.`);
    await load();
  });
  item.append(element('div', { className: 'row' }, ...(replaced_by ? [] : [replace]), revoke));
  return item;
}

function isConfirmed(name) {
  find('confirm-text').textContent =
    `Programs that use ${name}, or keys made with it, stop working at once. This cannot be undone.`;
  dialog.returnValue = '';
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => resolve(dialog.returnValue === 'yes'), { once: true });
  });
}

async function load() {
  const keys = [];
  for (let cursor = ''; cursor !== null; ) {
    const page = await request(cursor ? `?cursor=${encodeURIComponent(cursor)}` : '');
    keys.push(...page.api_keys);
    cursor = page.next_cursor;
  }
  keys.sort((one, other) => (one.status === 'active' ? 0 : 1) - (other.status === 'active' ? 0 : 1));
  list.replaceChildren(...keys.map(toItem));
  find('none').hidden = keys.length > 0;
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  run(find('create-button'), async () => {
    const fields = new FormData(form);
    const name = String(fields.get('name')).trim();
    const days = Number(fields.get('days'));
    const body = { scopes: fields.getAll('scope'), ...(name && { name }), ...(days > 0 && { expires_in_days: days }) };
    show(await request('', { method: 'POST', body }));
    notify('The key was created.');
    form.reset();
    await load();
  });
});

find('copy').addEventListener('click', async () => {
  try {
    await navigator.clipboard.writeText(find('new-key-secret').textContent);
    notify('The key is copied.');
  } catch {
    notify('The browser does not allow this page to copy. Select the key and copy it yourself.', true);
  }
});
find('done').addEventListener('click', () => {
  clearNewKey();
  find('name').focus();
});
const endSession = () => fetch('sign-out', { method: 'POST', headers: { 'X-CSRF-Token': csrf } });
find('sign-out').addEventListener('click', ({ target }) =>
  run(target, async () => {
    await endSession();
    location.replace('../docs');
  }),
);
// The key is removed, because browsers may keep the page in the back/forward cache.
addEventListener('pagehide', clearNewKey);

/**
 * Exchanges the session for a key that is valid for a day and that the console uses in all tabs of this browser. The
 * key has the person's permissions but cannot create keys, because created keys would expire with it.
 */
async function openConsole() {
  const scopes = [...form.querySelectorAll('[name=scope]')]
    .map(({ value }) => value)
    .filter((scope) => scope !== 'keys:write');
  const made = await request('', { method: 'POST', body: { name: 'console', scopes, expires_in_days: 1 } });
  localStorage.setItem('sonant-key', made.key);
  await endSession();
  location.replace('../console');
}
find('open-console').addEventListener('click', ({ target }) => run(target, openConsole));

// The console sets this item before it redirects the person to this page.
const isForConsole = sessionStorage.getItem('sonant-sign-in') !== null;
sessionStorage.removeItem('sonant-sign-in');
if (isForConsole) run(find('open-console'), openConsole);
else load().catch((error) => notify(error.message, true));
