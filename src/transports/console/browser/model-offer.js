// Offers one natural voice on the Speak page to users who may install models and have no natural voice yet. Shows its
// size, licence and installation progress. Users can dismiss the offer permanently.
/** @import { PageContext } from './page.d.ts' */
/** @import { ListVoiceModelsResponse, VoiceModel } from '../../../../gen/openapi.ts' */
import { readItem, storeItem } from './browser-storage.js';
import { element, fill } from './element.js';
import { icon } from './icon.js';
import { cancelInstall, installModel } from './model-actions.js';
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
  toSizeText,
  toVoicesText,
} from './model-facts.js';

const dismissedItem = 'sonant-model-offer';

/**
 * @typedef {object} OfferOptions
 * @property {() => boolean} mayChoose Whether the page may switch to the new voice without asking the user.
 * @property {(voiceId: string) => void} onVoice Called with the voice to select.
 */

/**
 * @param {HTMLElement} root The element that shows the offer. It stays hidden if there is nothing to offer.
 * @param {PageContext} context
 * @param {OfferOptions} options
 */
export function showModelOffer(root, context, { mayChoose, onVoice }) {
  const { api, signal, showError } = context;
  if (readItem(dismissedItem) !== undefined) return;
  /** @type {ReturnType<typeof createOfferView> | undefined} */
  let view;
  let name = '';
  /** @param {ListVoiceModelsResponse} found */
  const show = ({ models, suggested }) => {
    name ||= suggested ?? '';
    const model = models.find((each) => each.name === name);
    if (!model) return;
    const voiceId = model.voice_ids.find((id) => id === model.best_voice_id) ?? model.voice_ids[0];
    if (voiceId !== undefined && mayChoose()) return onVoice(voiceId);
    if (!view) root.hidden = false;
    view ??= createOfferView(root, model, context, watch);
    view.show(model, voiceId);
  };
  const read = () => api.requestJson('/api/models', { signal });
  const watch = createModelWatch({ read, signal, onRead: show, showError });
  void watch();
}

/**
 * @param {HTMLElement} root
 * @param {VoiceModel} first
 * @param {PageContext} context
 * @param {() => void} onChange
 */
function createOfferView(root, first, context, onChange) {
  let model = first;
  const bar = createInstallBar();
  const fault = element('p', { class: 'field-error', role: 'alert' });
  /** @param {(model: VoiceModel, context: PageContext) => Promise<unknown>} work */
  const act = async (work) => {
    try {
      await work(model, context);
    } catch (error) {
      context.showError(error);
    }
    onChange();
  };
  const get = element('button', { type: 'button', class: 'main', onclick: () => act(installModel) }, 'Install it');
  const cancel = element('button', { type: 'button', onclick: () => act(cancelInstall) }, 'Cancel');
  const dismiss = () => {
    storeItem(dismissedItem, 'dismissed', 'device');
    root.hidden = true;
  };
  const close = element(
    'button',
    { type: 'button', class: 'quiet', 'aria-label': 'Do not show this again', onclick: dismiss },
    icon('close'),
  );
  const use = element('a', { class: 'button main', hidden: true }, 'Use it');
  const buttons = element(
    'div',
    { class: 'row' },
    get,
    cancel,
    use,
    element('a', { href: '#/voices/+models' }, 'All models'),
  );
  const heading = element('h2', { id: 'offer-title' });
  const manual = byHand(first);
  fill(
    root,
    element('div', { class: 'offer-head' }, heading, close),
    describe(first),
    bar.root,
    fault,
    manual,
    buttons,
  );
  return {
    /**
     * @param {VoiceModel} next
     * @param {string | undefined} voiceId A voice of the model; undefined until the model is installed.
     */
    show(next, voiceId) {
      model = next;
      bar.show(next);
      const isBusy = isUnderWay(next);
      keepFocus(buttons, () => {
        get.hidden = isBusy || next.installed;
        cancel.hidden = !isBusy || next.install?.state === 'elsewhere';
        use.hidden = voiceId === undefined;
      });
      if (voiceId !== undefined) use.setAttribute('href', `#/speak/${encodeURIComponent(voiceId)}`);
      const isFailed = next.install?.state === 'failed';
      manual.hidden = !isFailed;
      const title = isBusy ? 'A natural voice is being installed' : 'Install a natural voice';
      if (heading.textContent !== title) fill(heading, title);
      const label = isFailed ? 'Try again' : 'Install it';
      if (get.textContent !== label) fill(get, label);
      // Shortens each URL to its host. The Models page shows the full URL.
      const text = toFaultText(next).replace(/https?:\/\/([^\s/]+)\S*/g, '$1');
      if (fault.textContent !== text) fill(fault, text);
    },
  };
}

/** @param {VoiceModel} model */
function describe(model) {
  return element(
    'p',
    {},
    `${model.title}: ${toLanguagesText(model)}, ${toVoicesText(model)}. It runs on the machine of this service. `,
    `${toSizeText(model)} to download. Licence: `,
    licenceLink(model),
    '.',
    toLibraryText(model),
  );
}
