// Exports speech: as a file in each format that the voice supports, and as code that makes the same request.
/** @import { Api } from './api.js' */
/** @import { Speech } from './speech-stream.js' */
import { serviceUrl } from './api.js';
import { copyText } from './clipboard.js';
import { element, fill } from './element.js';
import { icon } from './icon.js';
import { codeWriters, toFileBody } from './request-code.js';

/**
 * @typedef {object} Download
 * @property {Speech} speech
 * @property {readonly string[]} formats
 * @property {() => Int16Array<ArrayBuffer>} samples
 *
 * @typedef {object} ExportOptions
 * @property {Api} api
 * @property {(text: string) => void} notify
 * @property {(error: unknown) => void} showError
 * @property {AbortSignal} signal
 */

/**
 * A format selector, a download button, and a link to the stored file.
 * @param {Download} download
 * @param {ExportOptions} options
 */
export function createDownload({ speech, formats, samples }, { api, showError, signal }) {
  const format = element(
    'select',
    { 'aria-label': 'Format of the file' },
    formats.map((name) => element('option', { value: name }, name.toUpperCase())),
  );
  const button = element('button', { type: 'button', class: 'download' }, icon('download'), 'Download');
  const link = element('a', { class: 'link-to-file', hidden: true, target: '_blank' });
  /** @type {Map<string, Promise<string>>} */
  const urls = new Map();

  /** @param {string} name */
  const urlOf = async (name) => {
    if (name === 'pcm') return URL.createObjectURL(new Blob([samples()], { type: 'audio/pcm' }));
    const body = toFileBody(speech, name, 'url');
    if (!('return_format' in body)) {
      const reply = await api.send('/api/audio/speech', { body, signal });
      return URL.createObjectURL(await reply.blob());
    }
    const { audio_url } = await api.requestJson('/api/audio/speech', { body, signal });
    // The file is also served below the console’s own origin, and only same-origin links can set the file name.
    return audio_url.replace(/^.*(?=\/audio\/[^/]+$)/, serviceUrl);
  };
  button.addEventListener('click', async () => {
    const name = format.value;
    button.disabled = true;
    try {
      const pending = urls.get(name) ?? urlOf(name);
      urls.set(name, pending);
      const url = await pending;
      element('a', { href: url, download: `${speech.voiceId}.${name}` }).click();
      // The user may have chosen another format in the meantime.
      link.hidden = !url.startsWith('http') || format.value !== name;
      link.href = url;
      fill(link, `Link to the ${name.toUpperCase()}`);
    } catch (error) {
      urls.delete(name);
      showError(error);
    } finally {
      button.disabled = false;
    }
  });
  format.addEventListener('change', () => {
    link.hidden = true;
  });
  signal.addEventListener('abort', async () => {
    for (const pending of urls.values()) URL.revokeObjectURL(await pending.catch(() => ''));
  });
  return element('div', { class: 'row' }, element('div', { class: 'joined' }, format, button), link);
}

/**
 * A panel that shows the request as code in several languages.
 * @param {() => { speech: Speech, format: string }} getRequest
 * @param {ExportOptions} options
 */
export function createCodePanel(getRequest, { notify, showError }) {
  const code = element('code', {});
  let language = 'curl';
  const show = () => {
    const { speech, format } = getRequest();
    const write = codeWriters[language];
    code.textContent = write ? write(toFileBody(speech, format, 'buffer'), `${speech.voiceId}.${format}`) : '';
  };
  const tabs = Object.keys(codeWriters).map((name) =>
    element(
      'label',
      {},
      element('input', {
        type: 'radio',
        name: 'code-language',
        value: name,
        checked: name === language,
        onchange: () => {
          language = name;
          show();
        },
      }),
      element('span', {}, name),
    ),
  );
  const onclick = () => {
    show();
    return copyText(code).then(() => notify(`Copied the ${language} code.`), showError);
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
