// What was heard, to take along: as a file in any format that the voice can be had in, and as code that gets it.
/** @import { Api } from './api.js' */
/** @import { Speech } from './speech-run.js' */
import { serviceUrl } from './api.js';
import { copyFrom } from './copying.js';
import { element, fill } from './element.js';
import { icon } from './icon.js';
import { languages, toFileBody } from './request-code.js';
import { toWav } from './wav-file.js';

/**
 * @typedef {object} Spoken
 * @property {Speech} speech
 * @property {readonly string[]} formats
 * @property {() => Int16Array<ArrayBuffer>} samples
 *
 * @typedef {object} FileOptions
 * @property {Api} api
 * @property {(text: string) => void} say
 * @property {(error: unknown) => void} complain
 * @property {AbortSignal} signal
 */

/**
 * Where to download it.
 * @param {Spoken} spoken
 * @param {FileOptions} options
 */
export function createDownload({ speech, formats, samples }, { api, complain, signal }) {
  const format = element(
    'select',
    { 'aria-label': 'Format of the file' },
    formats.map((name) => element('option', { value: name }, name.toUpperCase())),
  );
  const button = element('button', { type: 'button', class: 'download' }, icon('download'), 'Download');
  const link = element('a', { class: 'link-to-file', hidden: true, target: '_blank' });
  /** @type {Map<string, Promise<string>>} */
  const addresses = new Map();

  /** @param {string} name */
  const addressOf = async (name) => {
    if (name === 'wav') return URL.createObjectURL(toWav(samples(), speech.sampleRateHz));
    if (name === 'pcm') return URL.createObjectURL(new Blob([samples()], { type: 'audio/pcm' }));
    const body = toFileBody(speech, name, 'url');
    if (!('return_format' in body)) {
      const reply = await api.send('/api/audio/speech', { body, signal });
      return URL.createObjectURL(await reply.blob());
    }
    const { audio_url } = await api.ask('/api/audio/speech', { body, signal });
    // The same file is wherever the console is, and only from there may a page name the file that is saved.
    return audio_url.replace(/^.*(?=\/audio\/[^/]+$)/, serviceUrl);
  };
  button.addEventListener('click', async () => {
    const name = format.value;
    button.disabled = true;
    try {
      const asked = addresses.get(name) ?? addressOf(name);
      addresses.set(name, asked);
      const address = await asked;
      element('a', { href: address, download: `${speech.voiceId}.${name}` }).click();
      // Another format may have been chosen meanwhile.
      link.hidden = !address.startsWith('http') || format.value !== name;
      link.href = address;
      fill(link, `Link to the ${name.toUpperCase()}`);
    } catch (error) {
      addresses.delete(name);
      complain(error);
    } finally {
      button.disabled = false;
    }
  });
  format.addEventListener('change', () => {
    link.hidden = true;
  });
  signal.addEventListener('abort', async () => {
    for (const asked of addresses.values()) URL.revokeObjectURL(await asked.catch(() => ''));
  });
  return element('div', { class: 'row' }, element('div', { class: 'joined' }, format, button), link);
}

/**
 * The same request as code.
 * @param {() => { speech: Speech, format: string }} asked
 * @param {FileOptions} options
 */
export function createCode(asked, { say, complain }) {
  const code = element('code', {});
  let shown = 'curl';
  const show = () => {
    const { speech, format } = asked();
    const write = languages[shown];
    code.textContent = write ? write(toFileBody(speech, format, 'buffer'), `${speech.voiceId}.${format}`) : '';
  };
  const tabs = Object.keys(languages).map((name) =>
    element(
      'label',
      {},
      element('input', {
        type: 'radio',
        name: 'code-language',
        value: name,
        checked: name === shown,
        onchange: () => {
          shown = name;
          show();
        },
      }),
      element('span', {}, name),
    ),
  );
  const onclick = () => {
    show();
    return copyFrom(code).then(() => say(`Copied as ${shown}.`), complain);
  };
  const copy = element('button', { type: 'button', class: 'quiet', onclick }, icon('copy'), 'Copy');
  const details = element(
    'details',
    { class: 'card code', ontoggle: show },
    element('summary', {}, 'As code'),
    element(
      'div',
      { class: 'code-head' },
      element('fieldset', { class: 'tabs' }, element('legend', { class: 'sr-only' }, 'Language of the code'), tabs),
      copy,
    ),
    element('pre', { tabindex: 0, 'aria-label': 'The request as code' }, code),
  );
  return { root: details, show: () => details.open && show() };
}
