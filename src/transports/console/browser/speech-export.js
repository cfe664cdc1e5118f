// Exports speech: as a file in each format that the voice supports, as links, and as code that sends the same request.
/** @import { Api } from './api.js' */
/** @import { Speech } from './speech-stream.js' */
import { serviceUrl } from './api.js';
import { copyText } from './clipboard.js';
import { element, fill } from './element.js';
import { icon } from './icon.js';
import { tabs } from './page-elements.js';
import { codeWriters, toFileName } from './request-code.js';
import { toRequestFields } from './speech-stream.js';

/**
 * @typedef {object} Download
 * @property {Speech} speech
 * @property {readonly string[]} formats
 * @property {(format: string) => Blob | undefined} held Returns the file if the browser has its audio.
 *
 * @typedef {object} ExportOptions
 * @property {Api} api
 * @property {(text: string) => void} notify
 * @property {(error: unknown) => void} showError
 * @property {AbortSignal} signal
 */

/**
 * A format selector, a download button, and a button for links to the stored file and its captions.
 * @param {Download} download
 * @param {ExportOptions} options
 */
export function createDownload({ speech, formats, held }, { api, showError, signal }) {
  const format = element(
    'select',
    { 'aria-label': 'Format of the file' },
    formats.map((name) => element('option', { value: name }, name.toUpperCase())),
  );
  const links = element('span', { class: 'links', role: 'status' });
  const hasCaptions = speech.chunks.length === 1;
  /** Object URLs by format. Nothing is requested twice. @type {Map<string, Promise<string>>} */
  const urls = new Map();
  /** Links by format. @type {Map<string, Promise<string>>} */
  const shared = new Map();

  /** @param {string} name */
  const urlOf = async (name) => {
    const file = held(name);
    if (file) return URL.createObjectURL(file);
    const reply = await api.send('/api/audio/speech', { body: toFileBody(speech, name, 'buffer'), signal });
    return URL.createObjectURL(await reply.blob());
  };
  /** @param {string} name */
  const download = async (name) => {
    const pending = urls.get(name) ?? urlOf(name);
    urls.set(name, pending);
    pending.catch(() => urls.delete(name));
    // The time keeps apart files of the same voice.
    const file = toFileName(`${speech.voiceId}-${new Date().toISOString().slice(0, 19)}`, name);
    element('a', { href: await pending, download: file }).click();
  };
  /** @param {string} name */
  const linkOf = async (name) => {
    const body = { ...toFileBody(speech, name, 'url'), ...(hasCaptions && { captions: ['srt', 'vtt'] }) };
    return (await api.requestJson('/api/audio/speech', { body, signal })).audio_url;
  };
  /** @param {string} name */
  const share = async (name) => {
    const pending = shared.get(name) ?? linkOf(name);
    shared.set(name, pending);
    pending.catch(() => shared.delete(name));
    const url = await pending;
    fill(
      links,
      [name, ...(hasCaptions ? ['srt', 'vtt'] : [])].flatMap((each) => [
        element('a', { href: url.replace(/\w+$/, each), target: '_blank' }, `Link to the ${each.toUpperCase()}`),
        ' ',
      ]),
    );
  };
  /** @type {(work: (name: string) => Promise<void>, className: string, ...label: import('./element.js').Child[]) => HTMLElement} */
  const button = (work, className, ...label) => {
    const onclick = async () => {
      own.disabled = true;
      await work(format.value).catch(showError);
      own.disabled = false;
    };
    const own = element('button', { type: 'button', class: className, onclick }, ...label);
    return own;
  };
  format.addEventListener('change', () => fill(links));
  signal.addEventListener('abort', async () => {
    for (const pending of urls.values()) URL.revokeObjectURL(await pending.catch(() => ''));
  });
  const joined = element(
    'div',
    { class: 'joined' },
    format,
    button(download, 'download', icon('download'), 'Download'),
  );
  return element('div', { class: 'row' }, joined, button(share, 'share', 'Link and captions'), links);
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
    const request = {
      url: `${serviceUrl}/api/audio/speech`,
      body: toFileBody(speech, format, 'buffer'),
      file: toFileName(speech.voiceId, format),
    };
    code.textContent = write ? write(request) : '';
  };
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
      tabs({
        name: 'code-language',
        legend: 'Language of the code',
        values: Object.keys(codeWriters).map((name) => [name, name]),
        chosen: language,
        onChoose(name) {
          language = name;
          show();
        },
      }),
      copy,
    ),
    element('pre', { tabindex: 0, 'aria-label': 'The request as code' }, code),
  );
  return { root: details, show: () => details.open && show() };
}

/**
 * Returns a request body for all the speech as one file.
 * @param {Speech} speech
 * @param {string} format
 * @param {'buffer' | 'url'} returnFormat
 */
function toFileBody(speech, format, returnFormat) {
  const [first, ...more] = speech.chunks.map(({ text }) => text);
  const isOne = more.length === 0;
  return {
    ...toRequestFields(speech),
    ...(isOne ? { text: first ?? '' } : { method: 'streaming', text_chunks: [first, ...more] }),
    output_format: format,
    ...((isOne || returnFormat === 'url') && { return_format: returnFormat }),
  };
}
