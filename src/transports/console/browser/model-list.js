// A subpage of the Voices page: lists the installable models, filtered by language and state, and shows the progress of
// installations.
/** @import { ListVoiceModelsResponse, VoiceModel } from '../../../../gen/openapi.ts' */
/** @import { PageContext } from './page.d.ts' */
/** @import { Preview } from './voice-preview.js' */
import { element, fill } from './element.js';
import { toCount } from './formatting.js';
import { cancelInstall, installModel, installScope, makeDefault, removeModel } from './model-actions.js';
import {
  byHand,
  createInstallBar,
  createModelWatch,
  isUnderWay,
  keepFocus,
  licenceLink,
  toFaultText,
  toLanguagesText,
  toLibraryText,
  toMegabytes,
  toSizeText,
  toVoicesText,
} from './model-facts.js';
import { loading } from './notices.js';
import { pageHead } from './page-elements.js';
import { filterSelect, toVoiceAddress } from './voice-elements.js';
import { createPreview } from './voice-preview.js';
import { languagesOf } from './voice-search.js';

/** @param {PageContext} pageContext */
export async function showModelList(pageContext) {
  const { root, api, signal, notify, showError, hasScope } = pageContext;
  const preview = createPreview(pageContext);
  const list = element('ul', { class: 'model-list' });
  const status = loading('Loading the models …');
  const filters = element('form', { class: 'filters model-filters', role: 'search', 'aria-label': 'Models' });
  filters.addEventListener('submit', (event) => event.preventDefault());
  fill(root, head(), filters, status, list);

  /** @returns {Promise<ListVoiceModelsResponse>} */
  const read = () => api.requestJson('/api/models', { signal });
  const { models, can_install: canInstall } = await read();
  status.classList.remove('loading');
  const hint = hintOf(canInstall, hasScope(installScope));
  if (hint) root.insertBefore(hint, filters);
  const watch = createModelWatch({ read, signal, showError, onRead: (now) => update(now.models) });
  /** @type {Map<string, { card: ReturnType<typeof createModelCard>, model: VoiceModel }>} */
  const cards = new Map();
  /** @param {VoiceModel} model */
  const add = (model) => {
    const card = createModelCard({ model, canInstall, pageContext, preview, onChange: watch });
    cards.set(model.name, { card, model });
  };
  /** @param {readonly VoiceModel[]} next */
  const update = (next) => {
    for (const model of next) {
      const known = cards.get(model.name);
      if (!known) add(model);
      else {
        announce(known.model, model, notify);
        known.card.update(model);
        known.model = model;
      }
    }
    for (const name of cards.keys()) if (!next.some((model) => model.name === name)) cards.delete(name);
    show();
  };
  const show = () => {
    const { language = '', state = '' } = Object.fromEntries(new FormData(filters));
    const found = [...cards.values()].filter(({ model }) => isWanted(model, String(language), String(state)));
    const roots = found.map(({ card }) => card.root);
    // Leaves the elements in place if possible, because moving a focused element would remove the focus.
    if (roots.length !== list.children.length || roots.some((each, i) => list.children[i] !== each)) fill(list, roots);
    const text =
      found.length === cards.size
        ? `${toCount(cards.size)} models.`
        : `${toCount(found.length)} of ${toCount(cards.size)} models.`;
    if (status.textContent !== text) fill(status, text);
  };
  fill(filters, ...toFilters(models));
  filters.addEventListener('input', show);
  update(models);
  if (models.some(isUnderWay)) watch();
}

const head = () =>
  pageHead({
    back: ['#/voices', 'Voices'],
    title: 'Models',
    lead: 'Natural voices that run on the machine of this service. Each model has its own licence.',
  });

/**
 * A hint that the user cannot install models.
 * @param {boolean} canInstall
 * @param {boolean} mayChange
 */
function hintOf(canInstall, mayChange) {
  const hint = (/** @type {(Node | string)[]} */ ...children) =>
    element('p', { class: 'hint model-hint' }, ...children);
  if (!canInstall)
    return hint('The operator of this service has switched off downloads. Each model says how to install it by hand.');
  if (!mayChange)
    return hint(
      'This key cannot install models: it lacks the scope ',
      element('code', {}, installScope),
      '. On the machine of the service, ',
      element('code', {}, 'sonant voice get NAME'),
      ' installs a model.',
    );
  return undefined;
}

/** @param {readonly VoiceModel[]} models */
function toFilters(models) {
  const languages = languagesOf(models.map((model) => ({ language_codes: model.languages ?? [] })));
  return [
    filterSelect('language', 'Language', [
      ['', 'All languages'],
      ...languages.map(({ code, name }) => /** @type {const} */ ([code, name])),
    ]),
    filterSelect('state', 'Which models', [
      ['', 'All models'],
      ['installed', 'Installed'],
      ['commercial', 'Commercial use allowed'],
    ]),
  ];
}

/**
 * @param {VoiceModel} model
 * @param {string} language
 * @param {string} state
 */
function isWanted(model, language, state) {
  const speaks = language === '' || (model.languages ?? []).some((code) => code.split('-')[0] === language);
  if (state === 'installed') return speaks && (model.installed || isUnderWay(model));
  return speaks && (state === '' || model.commercial === true);
}

/**
 * Announces the result of an installation.
 * @param {VoiceModel} before
 * @param {VoiceModel} now
 * @param {(text: string) => void} notify
 */
function announce(before, now, notify) {
  if (!isUnderWay(before) || isUnderWay(now)) return;
  if (now.installed) notify(`${now.title} is installed.`);
  else if (now.install?.state === 'failed') notify(`Could not install ${now.title}.`);
}

/**
 * @param {object} options
 * @param {VoiceModel} options.model
 * @param {boolean} options.canInstall Whether the service can download models.
 * @param {PageContext} options.pageContext
 * @param {Preview} options.preview
 * @param {() => void} options.onChange Called when an action has ended.
 */
function createModelCard({ model: first, canInstall, pageContext, preview, onChange }) {
  const { hasScope, showError } = pageContext;
  let model = first;
  let isActing = false;
  const bar = createInstallBar();
  const chips = element('span', { class: 'chips' });
  const result = element('p', { class: 'result' });
  const manual = byHand(first);
  const voices = element('p', { class: 'row model-voices' });
  const buttons = createButtons({
    async act(work) {
      if (isActing) return;
      isActing = true;
      try {
        await work(model, pageContext);
      } catch (error) {
        showError(error);
      }
      isActing = false;
      onChange();
    },
    title: first.title,
  });
  const root = element(
    'li',
    { class: 'card', 'data-model': first.name },
    element('h2', {}, first.title),
    chips,
    element('p', { class: 'facts' }, [toLanguagesText(first), toVoicesText(first), toSizeText(first)].join(' · ')),
    notesOf(first),
    licenceOf(first),
    bar.root,
    result,
    manual,
    voices,
    buttons.root,
  );
  let shown = '';
  const update = (/** @type {VoiceModel} */ next) => {
    model = next;
    bar.show(next);
    buttons.show(next, { mayChange: hasScope(installScope), canInstall });
    fill(result, toResult(next));
    const isFailed = next.install?.state === 'failed';
    result.classList.toggle('field-error', isFailed);
    manual.hidden = next.installed || (canInstall && !isFailed);
    // Replaces the chips and voices only if they change, because they may have the focus.
    const state = JSON.stringify([next.installed, next.voice_ids]);
    if (state === shown) return;
    shown = state;
    fill(chips, toChips(next));
    fill(voices, toVoices(next, preview, hasScope('speech:stream')), defaultButton(next, pageContext));
  };
  update(first);
  return { root, update };
}

/**
 * @param {object} options
 * @param {(work: (model: VoiceModel, context: PageContext) => Promise<unknown>) => Promise<void>} options.act
 * @param {string} options.title
 */
function createButtons({ act, title }) {
  /** @type {(label: string, work: Parameters<typeof act>[0], kind?: string) => HTMLButtonElement} */
  const button = (label, work, kind = '') => {
    const own = element(
      'button',
      {
        type: 'button',
        class: kind,
        'aria-label': `${label} ${title}`,
        onclick: () => act(work),
      },
      label,
    );
    return own;
  };
  const get = button('Install', installModel, 'main');
  const cancel = button('Cancel', cancelInstall);
  const discard = button('Discard', removeModel);
  const remove = button('Remove', removeModel, 'danger');
  const root = element('div', { class: 'row' }, get, cancel, discard, remove);
  return {
    root,
    /**
     * @param {VoiceModel} model
     * @param {{ mayChange: boolean, canInstall: boolean }} rights
     */
    show(model, { mayChange, canInstall }) {
      const { install, installed, fetched_bytes } = model;
      const isBusy = isUnderWay(model);
      keepFocus(root, () => {
        get.hidden = !mayChange || !canInstall || installed || isBusy;
        // An installation by another process can only be stopped in that process.
        cancel.hidden = !mayChange || !isBusy || install?.state === 'elsewhere';
        discard.hidden = !mayChange || installed || isBusy || fetched_bytes === 0;
        remove.hidden = !mayChange || !installed || isBusy;
      });
      const label = install?.state === 'failed' ? 'Try again' : fetched_bytes > 0 ? 'Continue' : 'Install';
      if (get.textContent !== label) {
        fill(get, label);
        get.setAttribute('aria-label', `${label === 'Try again' ? 'Try again to install' : label} ${title}`);
      }
    },
  };
}

/** @param {VoiceModel} model */
const toChips = ({ installed, recommended, commercial }) => [
  installed && element('span', { class: 'chip' }, 'installed'),
  recommended && element('span', { class: 'chip' }, 'recommended'),
  commercial === false && element('span', { class: 'chip failed' }, 'no commercial use'),
];

/** @param {VoiceModel} model */
function notesOf({ cost, notes }) {
  const texts = [notes, cost !== null && `On a CPU, ${cost}.`].filter(Boolean);
  return texts.length > 0 && element('p', { class: 'hint' }, texts.join(' '));
}

/** @param {VoiceModel} model */
const licenceOf = (model) =>
  element(
    'p',
    { class: 'hint' },
    'Licence: ',
    licenceLink(model),
    model.commercial === null ? '; whether it allows commercial use is not known' : '',
    ...model.parts.map(({ file, licence }) => `; ${file}: ${licence ?? 'not known'}`),
    '. ',
    model.checked_by === null && !model.installed && 'Its SHA-256 is not known, so only damage can be detected.',
    toLibraryText(model),
  );

/** @param {VoiceModel} model */
function toResult(model) {
  const { install, installed, fetched_bytes } = model;
  if (install?.failure) return toFaultText(model);
  if (installed || fetched_bytes === 0 || (install !== null && install.state !== 'cancelled')) return '';
  return `${toMegabytes(fetched_bytes)} are already downloaded.`;
}

/**
 * A button that makes the model's best voice the default voice.
 * @param {VoiceModel} model
 * @param {PageContext} pageContext
 */
function defaultButton(model, pageContext) {
  const best = bestVoiceOf(model);
  if (best === undefined || !pageContext.hasScope(installScope)) return undefined;
  const onclick = () => makeDefault(best, pageContext).catch(pageContext.showError);
  return element('button', { type: 'button', 'aria-label': `Make default: ${best}`, onclick }, 'Make default');
}

/** @param {VoiceModel} model */
const bestVoiceOf = ({ voice_ids, best_voice_id }) => voice_ids.find((id) => id === best_voice_id) ?? voice_ids[0];

/**
 * A sample of the model's best voice, and links to all its voices.
 * @param {VoiceModel} model
 * @param {Preview} preview
 * @param {boolean} maySpeak
 */
function toVoices(model, preview, maySpeak) {
  const { name, voice_ids, installed, voices } = model;
  const best = bestVoiceOf(model);
  if (best === undefined)
    return installed
      ? [voices === 0 ? 'It is installed and can clone voices.' : 'Its voices are not available yet.']
      : [];
  return [
    preview.button({ voice_id: best, name: best }),
    element('a', { href: toVoiceAddress(best) }, best),
    maySpeak && element('a', { class: 'button', href: `#/speak/${encodeURIComponent(best)}` }, 'Use it'),
    voice_ids.length > 1 &&
      element('a', { href: `#/voices/+search/${encodeURIComponent(name)}` }, `All ${voice_ids.length} voices`),
  ];
}
