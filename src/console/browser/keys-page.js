// The Keys page: the key in use and, depending on its scopes, the keys created with it and a form to create one.
/** @import { ApiKey, CreateApiKeyResponse } from '../../../gen/openapi.ts' */
/** @import { Page, PageContext } from './page.d.ts' */
import { serviceUrl } from './api.js';
import { copyText } from './clipboard.js';
import { element, fill } from './element.js';
import { icon } from './icon.js';
import { keyFacts } from './key-facts.js';
import { createKeyForm } from './key-form.js';
import { keyList } from './key-list.js';
import { loading } from './notices.js';
import { missingScope, pageHead } from './page-head.js';

const path = '/api/auth/api-keys';

/** @type {Page} */
export const keysPage = {
  name: 'keys',
  title: 'Keys',
  async show(pageContext) {
    const { root, api, hasScope, signal } = pageContext;
    fill(root, loading('Loading the keys …'));
    /** @type {ApiKey} */
    const own = await api.requestJson(`${path}/self`, { signal });
    const newKeyCard = createNewKeyCard(pageContext);
    const list = element('div', {});
    const show = async () => {
      if (!hasScope('keys:read')) return;
      /** @type {ApiKey[]} */
      const keys = await api.list(path, 'api_keys', { signal });
      const others = keys.filter(({ id }) => id !== own.id);
      fill(list, keyList(others, pageContext, { onCreated, onChange: show }));
    };
    /** @param {CreateApiKeyResponse} key */
    const onCreated = async (key) => {
      newKeyCard.show(key);
      await show();
    };
    const form = hasScope('keys:write') ? createKeyForm(pageContext, own, onCreated) : undefined;
    fill(
      root,
      pageHead({
        title: 'Keys',
        lead: 'An API key gives a program access to this service, limited to the scopes of the key.',
        actions: form && [openButton(form)],
      }),
      newKeyCard.root,
      form ?? missingScope('create keys', 'keys:write'),
      hasScope('keys:read') ? list : missingScope('list the keys created with it', 'keys:read'),
      ownCard(own),
    );
    await show();
  },
};

/** @param {HTMLElement} form */
function openButton(form) {
  const button = element(
    'button',
    { type: 'button', class: 'main', 'aria-expanded': 'false', 'aria-controls': form.id },
    'Create a key',
  );
  const toggle = () => {
    form.hidden = !form.hidden;
    button.setAttribute('aria-expanded', String(!form.hidden));
    button.hidden = !form.hidden;
    if (form.hidden) button.focus();
    else form.querySelector('input')?.focus();
  };
  button.addEventListener('click', toggle);
  form.addEventListener('close', toggle);
  return button;
}

/** @param {ApiKey} own */
const ownCard = (own) =>
  element(
    'section',
    { class: 'card', 'aria-labelledby': 'own-key' },
    element('h2', { id: 'own-key' }, 'The key in use'),
    element('p', { class: 'own-name' }, element('strong', {}, own.name), ' ', element('code', {}, own.hint)),
    keyFacts(own, 'now'),
  );

/** @param {PageContext} pageContext */
function createNewKeyCard({ notify, showError, signal }) {
  const root = element('section', { class: 'card new-key', 'aria-labelledby': 'new-key-title', hidden: true });
  const clear = () => {
    root.hidden = true;
    fill(root);
  };
  signal.addEventListener('abort', clear);
  // Browsers may keep the page in the back/forward cache.
  addEventListener('pagehide', clear, { signal });

  return {
    root,
    /** @param {CreateApiKeyResponse} created */
    show({ key, name }) {
      const title = element('h2', { id: 'new-key-title', tabindex: -1 }, `Your new key: ${name}`);
      const secret = element('code', { class: 'secret' }, key);
      const copy = () => copyText(secret).then(() => notify('The key is copied.'), showError);
      fill(
        root,
        title,
        element('p', {}, 'The key is shown only now. Store it in a safe place, such as a password manager.'),
        secret,
        element(
          'div',
          { class: 'row' },
          element('button', { type: 'button', class: 'main', onclick: copy }, icon('copy'), 'Copy the key'),
          element('button', { type: 'button', onclick: clear }, 'Done'),
        ),
        element('details', {}, element('summary', {}, 'Try it'), element('pre', { tabindex: 0 }, toCurl(key))),
      );
      root.hidden = false;
      title.focus();
    },
  };
}

/** @param {string} key */
const toCurl = (key) =>
  [
    `curl -sSf ${serviceUrl}/api/audio/speech \\`,
    `  -H 'X-API-Key: ${key}' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '{"voice_id":"arthur","text":"Hello.","return_format":"buffer"}' \\`,
    '  -o hello.wav',
  ].join('\n');
