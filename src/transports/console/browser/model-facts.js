// Formats the properties of a model for display, and shows the progress of its installation.
/** @import { ListVoiceModelsResponse, ModelInstall, VoiceModel } from '../../../../gen/openapi.ts' */
/** @import { Child } from './element.js' */
import { element, fill } from './element.js';
import { toCount } from './formatting.js';
import { toLanguageNames } from './voice-search.js';

/** @param {number} bytes */
export const toMegabytes = (bytes) => `${toCount(Number((bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)))} MB`;

/** @param {number} seconds */
const toTimeLeft = (seconds) => (seconds < 90 ? `${seconds} s left` : `${Math.ceil(seconds / 60)} min left`);

/** @param {VoiceModel} model */
export const toSizeText = ({ bytes }) => (bytes === null ? 'size not known' : toMegabytes(bytes));

/** @param {VoiceModel} model */
export const toLanguagesText = ({ languages }) =>
  languages === null ? 'languages not known' : toLanguageNames(languages);

/** States the library that is installed with the model. @param {VoiceModel} model */
export const toLibraryText = ({ library }) =>
  library.installed ? '' : ` ${library.name}, which runs the model, is installed too. Its licence: ${library.licence}.`;

/** @param {VoiceModel} model */
export function toVoicesText({ voices }) {
  if (voices === null) return 'number of voices not known';
  if (voices === 0) return 'clones voices from samples';
  return voices === 1 ? 'one voice' : `${toCount(voices)} voices`;
}

/**
 * Returns the name of the licence, as a link if its source is a web page.
 * @param {VoiceModel} model
 * @returns {Child}
 */
export function licenceLink({ licence, licence_source: source }) {
  const name = licence ?? 'not known';
  if (source === null || !/^https?:\/\//.test(source)) return name;
  return element('a', { href: source, target: '_blank', rel: 'noreferrer' }, name);
}

/** @param {VoiceModel} model */
export const isUnderWay = ({ install }) => install !== null && !['done', 'cancelled', 'failed'].includes(install.state);

/**
 * @param {VoiceModel} model
 * @param {ModelInstall} install
 */
function toStateText({ library }, { state, bytes_done, bytes_total, bytes_per_second, seconds_left, unpacked }) {
  const bytes =
    bytes_total === null ? toMegabytes(bytes_done) : `${toMegabytes(bytes_done)} of ${toMegabytes(bytes_total)}`;
  switch (state) {
    case 'queued':
      return 'Waiting for another model.';
    case 'waiting':
      return `Another process is installing this model: ${bytes}.`;
    case 'elsewhere':
      return `Another replica, or the command line, is installing this model: ${bytes}.`;
    case 'preparing':
      return `Installing ${library.name}, which runs the models.`;
    case 'unpacking':
      return `Unpacking, ${Math.round(100 * unpacked)} %.`;
    case 'checking':
      return 'Testing the model.';
    default: {
      const rate = bytes_per_second !== null && `${toMegabytes(bytes_per_second)}/s`;
      return [bytes, rate, seconds_left !== null && toTimeLeft(seconds_left)].filter(Boolean).join(' · ');
    }
  }
}

/**
 * Completed share of the current step; undefined if unknown.
 * @param {ModelInstall} install
 */
function shareOf({ state, bytes_done, bytes_total, unpacked }) {
  if (state === 'unpacking') return unpacked;
  const isFetched = ['downloading', 'waiting', 'elsewhere'].includes(state);
  return isFetched && bytes_total ? bytes_done / bytes_total : undefined;
}

/** Creates a progress bar with a line of text, hidden while no installation is in progress. `show` updates both. */
export function createInstallBar() {
  const bar = element('progress', { max: 1 });
  const line = element('p', { class: 'hint' });
  const root = element('div', { class: 'install-bar', hidden: true }, bar, line);
  return {
    root,
    /** @param {VoiceModel} model */
    show(model) {
      const { install, title } = model;
      root.hidden = !isUnderWay(model);
      if (install === null || root.hidden) return;
      const share = shareOf(install);
      if (share === undefined) bar.removeAttribute('value');
      else bar.value = share;
      bar.setAttribute('aria-label', `Progress of ${title}`);
      fill(line, toStateText(model, install));
    },
  };
}

/**
 * The reason of a failed installation, without the commands, which `byHand` shows.
 * @param {VoiceModel} model
 */
export const toFaultText = ({ install }) =>
  (install?.failure?.message ?? '').replace(/ To bring the files by hand.*$/, '');

/**
 * Shows how to install a model that the service cannot download.
 * @param {VoiceModel} model
 */
export const byHand = ({ manual_commands: commands, library }) =>
  element(
    'details',
    { class: 'by-hand' },
    element('summary', {}, 'Install by hand'),
    element(
      'p',
      {},
      'Run all commands but the last one on any machine. Copy the files to the machine of the service, and run the last command there.',
      !library.installed && ' Copy the folder libraries into the data folder of the service first.',
    ),
    element('pre', { tabindex: 0 }, element('code', {}, commands.join('\n'))),
  );

/**
 * @param {HTMLElement} group
 * @param {() => void} change
 */
export function keepFocus(group, change) {
  const focused = group.contains(document.activeElement) ? document.activeElement : null;
  change();
  if (focused instanceof HTMLElement && focused.hidden) {
    const next = group.querySelector(':is(button, a):not([hidden])');
    if (next instanceof HTMLElement) next.focus();
  }
}

const pollMs = 1_000;
const retryMs = 5_000;

/**
 * Returns a function that reads the models at once, then polls while a model is being installed.
 * @param {object} options
 * @param {() => Promise<ListVoiceModelsResponse>} options.read
 * @param {AbortSignal} options.signal
 * @param {(models: ListVoiceModelsResponse) => void} options.onRead
 * @param {(error: unknown) => void} options.showError
 */
export function createModelWatch({ read, signal, onRead, showError }) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  let count = 0;
  const watch = async () => {
    clearTimeout(timer);
    const own = ++count;
    try {
      const models = await read();
      if (own !== count || signal.aborted) return;
      onRead(models);
      if (models.models.some(isUnderWay)) timer = setTimeout(watch, pollMs);
    } catch (error) {
      if (own !== count || signal.aborted) return;
      showError(error);
      timer = setTimeout(watch, retryMs);
    }
  };
  signal.addEventListener('abort', () => clearTimeout(timer));
  return watch;
}
