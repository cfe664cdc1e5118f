// A key that was just made, shown this once: it is nowhere but in the page, and is taken out of it when the page is left.
/** @import { Desk } from './page.d.ts' */
/** @import { MadeApiKey } from './wire.d.ts' */
import { serviceUrl } from './api.js';
import { copyFrom } from './copying.js';
import { element, fill } from './element.js';
import { icon } from './icon.js';

/** @param {Desk} desk */
export function createMadeKey({ say, complain, signal }) {
  const root = element('section', { class: 'card made', 'aria-labelledby': 'made-key', hidden: true });
  const forget = () => {
    root.hidden = true;
    fill(root);
  };
  signal.addEventListener('abort', forget);
  // A browser may keep the page as it is, to bring it back.
  addEventListener('pagehide', forget, { signal });

  return {
    root,
    /** @param {MadeApiKey} made */
    show({ key, name }) {
      const title = element('h2', { id: 'made-key', tabindex: -1 }, `Your new key: ${name}`);
      const secret = element('code', { class: 'secret' }, key);
      const copy = () => copyFrom(secret).then(() => say('The key is copied.'), complain);
      fill(
        root,
        title,
        element('p', {}, 'It is shown this once, and cannot be shown again. Keep it where secrets are kept.'),
        secret,
        element(
          'div',
          { class: 'row' },
          element('button', { type: 'button', class: 'main', onclick: copy }, icon('copy'), 'Copy the key'),
          element('button', { type: 'button', onclick: forget }, 'I have it'),
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
