// The Speak page: a text field, the voice settings, a Speak button, and the playback of the streamed speech.
/** @import { PageContext, Page } from './page.d.ts' */
/** @import { HighlightedText } from './highlighted-text.js' */
/** @import { SpeechHistory } from './speech-history.js' */
/** @import { Voice } from '../../../../gen/openapi.ts' */
import { readItem, storeItem } from './browser-storage.js';
import { element, fill } from './element.js';
import { createHighlightedText } from './highlighted-text.js';
import { icon } from './icon.js';
import { markupOf } from './markup-kind.js';
import { showWithVoices } from './ready-voices.js';
import { createCodePanel } from './speech-export.js';
import { createSpeechHistory } from './speech-history.js';
import { createSpeechSettings, expandWhenWide, voiceItem } from './speech-settings.js';
import { countChars, textCharsMax, toChunks } from './text-chunks.js';
import { createPreview } from './voice-preview.js';

const textItem = 'sonant-text';
const defaultText =
  'Hello. I read this text aloud, and you hear the first words while I prepare the rest. ' +
  'Choose another voice, change the speed, and listen again.';

/** @type {Page} */
export const speakPage = {
  name: 'speak',
  title: 'Speak',
  scope: 'speech:stream',
  show: (context) => showWithVoices(context, 'Speak', showSpeakForm),
};

/**
 * @param {PageContext} context
 * @param {readonly Voice[]} voices
 */
function showSpeakForm(context, voices) {
  const { root, pathSegments, signal } = context;
  const textField = createHighlightedText({
    id: 'text',
    'aria-describedby': 'count',
    placeholder: 'Enter a text to speak',
  });
  textField.text = readItem(textItem) ?? defaultText;
  const preview = createPreview(context);
  const settings = createSpeechSettings({ voices, voiceId: pathSegments[0], preview, onChange: () => code.show() });
  const getSpeech = () => ({
    ...settings.values,
    markup: markupOf(textField.text),
    chunks: toChunks(textField.text),
  });
  const code = createCodePanel(() => ({ speech: getSpeech(), format: 'wav' }), context);
  const history = createSpeechHistory({
    context,
    textField,
    getSpeech,
    voices,
    onUse({ text, speech }) {
      textField.text = text;
      textField.field.dispatchEvent(new Event('input'));
      settings.use(speech);
      textField.field.focus();
    },
    onChange: () => controls.show(),
  });
  const onSpeak = () => {
    preview.stop();
    void history.speak();
  };
  const controls = createControls({ text: () => textField.text, history, onSpeak });

  textField.field.addEventListener('input', () => {
    storeItem(textItem, textField.text, 'tab');
    controls.show();
    code.show();
  });
  root.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') history.stop();
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || controls.button.disabled) return;
    event.preventDefault();
    onSpeak();
  });
  const offer = element('section', { class: 'card model-offer', 'aria-labelledby': 'offer-title', hidden: true });
  void offerModel(offer, context, {
    // Switches to the new voice only if the user has not spoken any text yet.
    mayChoose: () => history.isEmpty,
    onVoice(voiceId) {
      storeItem(voiceItem, voiceId, 'device');
      location.hash = `#/speak/${encodeURIComponent(voiceId)}`;
      context.notify('The new voice is installed and selected.');
    },
  });
  expandWhenWide(settings.root, signal);
  const writing = element(
    'div',
    { class: 'card writing' },
    element('label', { for: 'text' }, 'Text'),
    textField.root,
    createMarks({ context, textField, voices }),
    controls.root,
  );
  fill(
    root,
    element('h1', { class: 'sr-only' }, 'Speak'),
    element(
      'div',
      { class: 'workspace' },
      writing,
      settings.root,
      history.player,
      history.list,
      offer,
      code.root,
      history.status,
    ),
  );
  settings.start();
  history.start();
  controls.show();
}

/**
 * Offers a natural voice to users who may install one.
 * @param {HTMLElement} root
 * @param {PageContext} context
 * @param {import('./model-offer.js').OfferOptions} options
 */
async function offerModel(root, context, options) {
  if (!context.hasScope('admin') || !context.hasScope('voices:read')) return;
  try {
    const { showModelOffer } = await import('./model-offer.js');
    showModelOffer(root, context, options);
  } catch (error) {
    context.showError(error);
  }
}

/**
 * The Marks button, which opens the markup toolbar. If the text has markup, the toolbar opens at once.
 * @param {{ context: PageContext, textField: HighlightedText, voices: readonly Voice[] }} options
 */
function createMarks({ context, textField, voices }) {
  const slot = element('div', {});
  const open = async () => {
    button.disabled = true;
    try {
      const { createMarkupToolbar } = await import('./markup-toolbar.js');
      const { root } = createMarkupToolbar({ textField, voices });
      const hadFocus = document.activeElement === button;
      slot.replaceChildren(root);
      if (hadFocus) root.querySelector('button')?.focus();
    } catch (error) {
      button.disabled = false;
      context.showError(error);
    }
  };
  const button = element('button', { type: 'button', class: 'quiet marks-button', onclick: open }, 'Marks…');
  slot.append(button);
  if (markupOf(textField.text)) void open();
  return slot;
}

/**
 * The Speak or Stop button and the character count.
 * @param {{ text: () => string, history: SpeechHistory, onSpeak: () => void }} options
 */
function createControls({ text, history, onSpeak }) {
  const count = element('span', { id: 'count', class: 'count' });
  const onclick = () => (history.isStreaming ? history.stop() : onSpeak());
  const button = element('button', { type: 'button', class: 'main speak-button', onclick });
  return {
    root: element('div', { class: 'row' }, count, button),
    button,
    show() {
      const { isStreaming } = history;
      const label = isStreaming ? [icon('stop'), 'Stop'] : [icon('play'), 'Speak'];
      fill(button, ...label, element('kbd', { 'aria-hidden': 'true' }, isStreaming ? 'Esc' : 'Ctrl ↵'));
      const chars = countChars(text());
      count.textContent = `${chars.toLocaleString()} of ${textCharsMax.toLocaleString()}`;
      count.classList.toggle('over', chars > textCharsMax);
      button.disabled = !isStreaming && (text().trim() === '' || chars > textCharsMax);
    },
  };
}
