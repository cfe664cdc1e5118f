// The installable models, below the Voices page: filtered by language and state, with their progress during an
// installation.
/** @import { PageContext } from './page.d.ts' */
/** @import { ListVoiceModelsResponse, VoiceModel } from '../../../gen/openapi.ts' */
import { element, fill } from './element.js';
import { toCount } from './formatting.js';
import { installScope } from './model-actions.js';
import { createModelCard } from './model-card.js';
import { createModelWatch, isUnderWay } from './model-facts.js';
import { loading } from './notices.js';
import { pageHead } from './page-head.js';
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
  const hint = hintOf(models, canInstall, hasScope(installScope));
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
    // Moving a focused element would remove the focus.
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
 * A hint that the user cannot install models, or that the first model also installs the library for models.
 * @param {readonly VoiceModel[]} models
 * @param {boolean} canInstall
 * @param {boolean} mayChange
 */
function hintOf(models, canInstall, mayChange) {
  const hint = (/** @type {(Node | string)[]} */ ...children) =>
    element('p', { class: 'hint model-hint' }, ...children);
  if (!canInstall) return hint('The operator of this service has switched off the installation of models.');
  if (!mayChange)
    return hint(
      'This key cannot install models: it lacks the scope ',
      element('code', {}, installScope),
      '. On the machine of the service, ',
      element('code', {}, 'sonant voice get NAME'),
      ' installs a model.',
    );
  const missing = models.find(({ library }) => !library.installed)?.library;
  return (
    missing &&
    hint(`The first model also installs ${missing.name}, which runs the models. Its licence: ${missing.licence}.`)
  );
}

/** @param {readonly VoiceModel[]} models */
function toFilters(models) {
  const languages = languagesOf(models.map((model) => ({ language_codes: model.languages ?? [] })));
  /** @type {(name: string, label: string, options: (readonly [string, string])[]) => HTMLElement} */
  const select = (name, label, options) =>
    element(
      'label',
      {},
      element('span', { class: 'sr-only' }, label),
      element('select', { name }, ...options.map(([value, text]) => element('option', { value }, text))),
    );
  return [
    select('language', 'Language', [
      ['', 'All languages'],
      ...languages.map(({ code, name }) => /** @type {const} */ ([code, name])),
    ]),
    select('state', 'Which models', [
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
