// The page of somebody who has signed in: makes a key and shows it this once, and lists, replaces and ends those there are.
// A key that was made is nowhere but in the page, and is taken out of it when the page is left.

const { csrf, api, speech } = document.body.dataset;
const find = (id) => document.getElementById(id);
const [form, made, list, said, sure] = ['make', 'made', 'keys', 'said', 'sure'].map(find);

async function ask(path, { method = 'GET', body } = {}) {
  const headers = { 'X-CSRF-Token': csrf, ...(body && { 'Content-Type': 'application/json' }) };
  const answer = await fetch(api + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  if (answer.status === 204) return undefined;
  const told = await answer.json();
  if (answer.ok) return told;
  if (answer.status === 401) throw new Error('Your sign-in is over. Load the page again to sign in.');
  throw new Error(told.details?.[0] ? `${told.details[0].field}: ${told.details[0].message}` : told.message);
}

function say(text, isWrong = false) {
  said.textContent = text;
  said.classList.toggle('wrong', isWrong);
}

/** Does what a button is for; meanwhile it cannot be pressed again. */
async function act(button, work) {
  button.disabled = true;
  try {
    await work();
  } catch (error) {
    say(error.message, true);
  } finally {
    button.disabled = false;
  }
}

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

const day = (time) => new Date(time).toLocaleDateString(undefined, { dateStyle: 'medium' });

function show({ key, name }) {
  find('made-name').textContent = name;
  find('made-key').textContent = key;
  find('made-curl').textContent = [
    `curl -sSf ${speech} \\`,
    `  -H 'X-API-Key: ${key}' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '{"voice_id":"arthur","text":"Hello.","return_format":"buffer"}' \\`,
    '  -o hello.wav',
  ].join('\n');
  made.hidden = false;
  find('made-title').focus();
}

function forget() {
  made.hidden = true;
  for (const id of ['made-key', 'made-curl', 'made-name']) find(id).textContent = '';
}

function story({ status, hint, created_at, expires_at, last_used_at, scopes, replaced_by }) {
  const ended = { revoked: 'Revoked', expired: 'Expired' }[status] ?? (replaced_by ? 'Replaced' : '');
  const times = [
    `made ${day(created_at)}`,
    last_used_at ? `last used ${day(last_used_at)}` : 'never used',
    ...(expires_at ? [`${status === 'active' ? 'ends' : 'ended'} ${day(expires_at)}`] : []),
  ];
  return `${ended ? `${ended} · ` : ''}${hint} · ${times.join(', ')} · ${scopes.join(', ')}`;
}

function button(text, name, kind, work) {
  const made = element('button', { type: 'button', textContent: text, className: kind });
  made.setAttribute('aria-label', `${text} ${name}`);
  made.addEventListener('click', () => act(made, work));
  return made;
}

function toItem(key) {
  const { id, name, status, replaced_by } = key;
  const item = element('li', { className: status === 'active' ? '' : 'ended' }, element('h3', { textContent: name }));
  item.append(element('p', { textContent: story(key) }));
  if (status !== 'active') return item;
  const replace = button('Replace', name, '', async () => {
    show(await ask(`/${id}/rotate`, { method: 'POST', body: {} }));
    say(`${name} was replaced. The old key works for one more day.`);
    await load();
  });
  const revoke = button('Revoke', name, 'danger', async () => {
    if (!(await isSure(name))) return;
    await ask(`/${id}`, { method: 'DELETE' });
    say(`${name} is revoked.`);
    await load();
  });
  item.append(element('div', { className: 'actions' }, ...(replaced_by ? [] : [replace]), revoke));
  return item;
}

function isSure(name) {
  find('sure-text').textContent = `Whatever uses ${name} stops working at once. This cannot be undone.`;
  sure.returnValue = '';
  sure.showModal();
  return new Promise((resolve) => {
    sure.addEventListener('close', () => resolve(sure.returnValue === 'yes'), { once: true });
  });
}

async function load() {
  const keys = [];
  for (let cursor = ''; cursor !== null; ) {
    const page = await ask(cursor ? `?cursor=${encodeURIComponent(cursor)}` : '');
    keys.push(...page.api_keys);
    cursor = page.next_cursor;
  }
  keys.sort((one, other) => (one.status === 'active' ? 0 : 1) - (other.status === 'active' ? 0 : 1));
  list.replaceChildren(...keys.map(toItem));
  find('none').hidden = keys.length > 0;
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  act(find('make-button'), async () => {
    const fields = new FormData(form);
    const name = String(fields.get('name')).trim();
    const days = Number(fields.get('days'));
    const body = { scopes: fields.getAll('scope'), ...(name && { name }), ...(days > 0 && { expires_in_days: days }) };
    show(await ask('', { method: 'POST', body }));
    say('The key was made.');
    form.reset();
    await load();
  });
});

find('copy').addEventListener('click', async () => {
  try {
    await navigator.clipboard.writeText(find('made-key').textContent);
    say('The key is copied.');
  } catch {
    say('It could not be copied; select it and copy it yourself.', true);
  }
});
find('done').addEventListener('click', () => {
  forget();
  find('name').focus();
});
find('leave').addEventListener('click', ({ target }) =>
  act(target, async () => {
    await fetch('sign-out', { method: 'POST', headers: { 'X-CSRF-Token': csrf } });
    location.replace('../docs');
  }),
);
// The browser may keep the page as it is, to bring it back.
addEventListener('pagehide', forget);

load().catch((error) => say(error.message, true));
