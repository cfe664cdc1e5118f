// What stands in place of a page as long as there is no key: where to paste one, and where to get one.
import { createApi } from './api.js';
import { element } from './element.js';
import { toWords } from './notices.js';
/** @import { ApiKey } from './wire.d.ts' */

/**
 * @typedef {object} WelcomeOptions
 * @property {string | undefined} signInUrl Where people get a key by signing in, if anywhere.
 * @property {unknown} [trouble] Why the key there was is not used any more.
 * @property {(apiKey: string, key: ApiKey, isForDevice: boolean) => void} onKey
 */

/** @param {WelcomeOptions} options */
export function welcome({ signInUrl, trouble, onKey }) {
  const field = element('input', {
    type: 'password',
    id: 'api-key',
    name: 'api-key',
    class: 'mono',
    required: true,
    spellcheck: 'false',
    autocomplete: 'off',
    autocapitalize: 'off',
    placeholder: 'snt_…',
    'aria-describedby': 'api-key-trouble',
  });
  const keep = element('input', { type: 'checkbox', id: 'keep-key' });
  const button = element('button', { type: 'submit', class: 'main' }, 'Open the console');
  const said = element('div', { id: 'api-key-trouble', class: 'field-trouble', role: 'alert' });
  if (trouble) said.append(...toText(trouble));

  const check = async () => {
    const apiKey = field.value.trim();
    button.disabled = true;
    said.replaceChildren();
    try {
      // Nothing else can be sent as a key.
      if (!/^\w+$/.test(apiKey)) throw new Error('That is no key: one begins with snt_, then come letters and digits.');
      const key = await createApi(apiKey).ask('/api/auth/api-keys/self');
      onKey(apiKey, key, keep.checked);
    } catch (error) {
      said.append(...toText(error));
      field.setAttribute('aria-invalid', 'true');
      field.focus();
    } finally {
      button.disabled = false;
    }
  };
  const form = element(
    'form',
    {
      class: 'card',
      novalidate: true,
      /** @param {Event} event */
      onsubmit: (event) => {
        event.preventDefault();
        void check();
      },
    },
    element('label', { for: 'api-key' }, 'API key'),
    field,
    said,
    element('label', { class: 'check' }, keep, 'Remember it on this device'),
    button,
  );
  return element(
    'section',
    { class: 'welcome' },
    element('h1', { tabindex: -1 }, 'Text in, speech out.'),
    element('p', { class: 'lead' }, 'Paste a key of this service to begin. It stays in this browser tab.'),
    form,
    ...whereFrom(signInUrl),
  );
}

/** @param {unknown} error */
const toText = (error) => toWords(error).filter((part) => part instanceof Node);

/** @param {string | undefined} signInUrl */
function whereFrom(signInUrl) {
  return [
    element('h2', {}, 'No key yet?'),
    element(
      'ul',
      { class: 'plain' },
      signInUrl !== undefined &&
        element('li', {}, element('a', { href: signInUrl }, 'Sign in'), ' to make one for yourself.'),
      element(
        'li',
        {},
        'The first start of a service makes one, and keeps it in the file ',
        element('code', {}, 'data/first-key'),
        ' on its machine.',
      ),
      element('li', {}, 'Its operator makes more with ', element('code', {}, 'sonant key create'), '.'),
    ),
  ];
}
