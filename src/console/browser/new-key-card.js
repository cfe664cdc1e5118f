// Shows a new API key once. The key exists only in the document and is removed when the user leaves the page.
/** @import { PageContext } from './page.d.ts' */
/** @import { CreateApiKeyResponse } from '../../../gen/openapi.ts' */
import { serviceUrl } from './api.js';
import { copyText } from './clipboard.js';
import { element, fill } from './element.js';
import { icon } from './icon.js';

/** @param {PageContext} pageContext */
export function createNewKeyCard({ notify, showError, signal }) {
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
