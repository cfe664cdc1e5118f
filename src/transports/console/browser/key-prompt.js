// The form that asks for an API key if the console has no key, with hints on where to get a key.
import { createApi } from './api.js';
import { element, fill } from './element.js';
import { toErrorElements } from './notices.js';

/** @import { ApiKey } from '../../../../gen/openapi.ts' */

/**
 * @typedef {object} KeyPromptOptions
 * @property {string | undefined} signInUrl The page at which users sign in to get a key, if sign-in is configured.
 * @property {unknown} [error] The reason why the previous key is no longer used.
 * @property {(apiKey: string, key: ApiKey, isForDevice: boolean) => void} onKey
 */

/** @param {KeyPromptOptions} options */
export function keyPrompt({ signInUrl, error, onKey }) {
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
    'aria-describedby': 'api-key-error',
  });
  const remember = element('input', { type: 'checkbox', id: 'remember-key' });
  const button = element('button', { type: 'submit', class: 'main' }, 'Open the console');
  const errorText = element('div', { id: 'api-key-error', class: 'field-error', role: 'alert' });
  if (error) fill(errorText, toErrorElements(error));

  const check = async () => {
    const apiKey = field.value.trim();
    button.disabled = true;
    fill(errorText);
    try {
      // Rejects text that is not a key, because a header cannot contain every character.
      if (!/^\w+$/.test(apiKey))
        throw new Error('This is not an API key. A key starts with snt_, followed by letters and digits.');
      const key = await createApi(apiKey).requestJson('/api/auth/api-keys/self');
      onKey(apiKey, key, remember.checked);
    } catch (error) {
      fill(errorText, toErrorElements(error));
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
    errorText,
    element('label', { class: 'check' }, remember, 'Remember it on this device'),
    button,
  );
  return element(
    'section',
    { class: 'welcome' },
    element('h1', { tabindex: -1 }, 'Text in, speech out.'),
    signInUrl !== undefined && [
      element('p', { class: 'lead' }, 'Sign in with the account of your organization, or use an API key.'),
      element('a', { class: 'button main', href: signInUrl }, 'Sign in'),
    ],
    signInUrl === undefined &&
      element('p', { class: 'lead' }, 'Paste an API key of this service to begin. It stays in this browser tab.'),
    form,
    ...keySources(signInUrl),
  );
}

/** @param {string | undefined} signInUrl */
function keySources(signInUrl) {
  return [
    element('h2', {}, 'No key yet?'),
    element(
      'ul',
      { class: 'plain' },
      signInUrl !== undefined &&
        element('li', {}, element('a', { href: signInUrl }, 'Sign in'), ' to create keys for programs.'),
      element(
        'li',
        {},
        'The first start of the service creates one and writes it to the file ',
        element('code', {}, 'data/first-key'),
        ' on the server.',
      ),
      element('li', {}, 'The operator creates more with ', element('code', {}, 'sonant key create'), '.'),
    ),
  ];
}
