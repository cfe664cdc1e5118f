// The page of the keys: the one in use and what it is good for; and, where it may, those that it has made, and new ones.
/** @import { Page } from './page.d.ts' */
/** @import { ApiKey, MadeApiKey } from './wire.d.ts' */
import { element, fill } from './element.js';
import { createKeyForm } from './key-form.js';
import { keyList } from './key-list.js';
import { keyFacts } from './key-words.js';
import { createMadeKey } from './made-key.js';
import { loading } from './notices.js';

const path = '/api/auth/api-keys';

/** @type {Page} */
export const keysPage = {
  name: 'keys',
  title: 'Keys',
  async show(desk) {
    const { room, api, may, signal } = desk;
    fill(room, loading('Loading the keys …'));
    /** @type {ApiKey} */
    const own = await api.ask(`${path}/self`, { signal });
    const made = createMadeKey(desk);
    const list = element('div', {});
    const show = async () => {
      if (!may('keys:read')) return;
      /** @type {ApiKey[]} */
      const keys = await api.list(path, 'api_keys', { signal });
      const others = keys.filter(({ id }) => id !== own.id);
      fill(list, keyList(others, desk, { onMade, onChange: show }));
    };
    /** @param {MadeApiKey} key */
    const onMade = async (key) => {
      made.show(key);
      await show();
    };
    const form = may('keys:write') ? createKeyForm(desk, own, onMade) : undefined;
    fill(
      room,
      head(form && openerOf(form)),
      made.root,
      form ?? lacking('make keys', 'keys:write'),
      may('keys:read') ? list : lacking('list the keys that it has made', 'keys:read'),
      ownCard(own),
    );
    await show();
  },
};

/** @param {HTMLElement | undefined} opener */
const head = (opener) =>
  element(
    'div',
    { class: 'page-head' },
    element(
      'div',
      {},
      element('h1', {}, 'Keys'),
      element('p', { class: 'lead' }, 'A key lets a program speak here, and no more than it must.'),
    ),
    opener,
  );

/** @param {HTMLElement} form */
function openerOf(form) {
  const button = element(
    'button',
    { type: 'button', class: 'main', 'aria-expanded': 'false', 'aria-controls': form.id },
    'Make a key',
  );
  const turn = () => {
    form.hidden = !form.hidden;
    button.setAttribute('aria-expanded', String(!form.hidden));
    button.hidden = !form.hidden;
    if (form.hidden) button.focus();
    else form.querySelector('input')?.focus();
  };
  button.addEventListener('click', turn);
  form.addEventListener('close', turn);
  return button;
}

/**
 * @param {string} what
 * @param {string} scope
 */
const lacking = (what, scope) =>
  element(
    'p',
    { class: 'card lacking' },
    `This key cannot ${what}: it lacks the scope `,
    element('code', {}, scope),
    '. A key that has it can make one for you.',
  );

/** @param {ApiKey} own */
const ownCard = (own) =>
  element(
    'section',
    { class: 'card', 'aria-labelledby': 'own-key' },
    element('h2', { id: 'own-key' }, 'The key in use'),
    element('p', { class: 'own-name' }, element('strong', {}, own.name), ' ', element('code', {}, own.hint)),
    keyFacts(own, 'now'),
  );
