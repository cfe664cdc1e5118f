// The Talk page: speaks text while it is typed, and can be interrupted. Shows which text was heard, and the delay
// before the first audio.
/** @import { Voice } from '../../../../gen/openapi.ts' */
/** @import { Page, PageContext } from './page.d.ts' */
import { element, fill } from './element.js';
import { icon } from './icon.js';
import { toErrorElements } from './notices.js';
import { showWithVoices } from './ready-voices.js';
import { createSpeechSettings, expandWhenWide } from './speech-settings.js';
import { TalkSession } from './talk-session.js';
import { createPreview } from './voice-preview.js';

/** Maximum number of turns on the page. Older turns are removed. */
const turnsShownMax = 100;

/** @type {Page} */
export const talkPage = {
  name: 'talk',
  title: 'Talk',
  scope: 'speech:stream',
  show: (context) => showWithVoices(context, 'Talk', showTalk),
};

/**
 * @param {PageContext} context
 * @param {readonly Voice[]} voices
 */
function showTalk(context, voices) {
  const { root, api, pathSegments, signal, notify } = context;
  const turns = createTurnList();
  const connection = element('p', { class: 'connection', role: 'status' }, 'Not connected');
  const errors = element('div', { role: 'alert' });
  const status = element('p', { class: 'sr-only', role: 'status' });
  const preview = createPreview(context);
  const settings = createSpeechSettings({ voices, voiceId: pathSegments[0], preview, onChange: () => restart() });
  const session = new TalkSession({
    api,
    getSettings: () => settings.values,
    onTurn: ({ root: turn }) => turns.add(turn),
    onChange: () => controls.show(),
    onState(state, text) {
      connection.dataset.state = state;
      if (connection.textContent !== text) connection.textContent = text;
      if (state === 'open') fill(errors);
    },
    onError: (error) => fill(errors, toNotice(error)),
    announce: (text) => fill(status, text),
  });
  const composer = createComposer({
    onText: (text) => {
      preview.stop();
      session.say(text);
    },
    onEnd: () => session.flush(),
    onFocus: () => session.prepare(),
    notify,
  });
  const interrupt = () => {
    composer.clear();
    session.interrupt();
    controls.show();
  };
  /** Settings of the current connection. A change requires a new connection. */
  let spokenWith = '';
  const restart = () => {
    const chosen = JSON.stringify(settings.values);
    if (spokenWith !== '' && spokenWith !== chosen) session.restart();
    spokenWith = chosen;
  };
  const controls = createControls({ session, composer, onInterrupt: interrupt });
  composer.field.addEventListener('input', () => controls.show());
  root.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') interrupt();
  });
  signal.addEventListener('abort', () => {
    composer.clear();
    session.close();
  });

  // Applies the styles of the Speak page, which has the same voice settings.
  root.classList.add('speak');
  fill(
    root,
    element('h1', { class: 'sr-only' }, 'Talk'),
    element(
      'div',
      { class: 'workspace' },
      writingCard(composer, controls, connection, errors),
      settings.root,
      turns.root,
      status,
    ),
  );
  expandWhenWide(settings.root, signal);
  settings.start();
  controls.show();
}

/**
 * @param {Composer} composer
 * @param {{ root: HTMLElement }} controls
 * @param {...HTMLElement} states
 */
const writingCard = (composer, controls, ...states) =>
  element(
    'div',
    { class: 'card writing' },
    element('label', { for: 'talk-text' }, 'Text'),
    composer.field,
    element(
      'p',
      { id: 'talk-help', class: 'hint' },
      'A word is sent when a space or punctuation follows it. Enter speaks the rest, Escape interrupts.',
    ),
    element('div', { class: 'row' }, composer.pace, controls.root),
    ...states,
  );

/** A list of turns, newest last. */
function createTurnList() {
  const list = element('ol', { class: 'turns', 'aria-label': 'Spoken text' });
  const empty = element('p', {}, 'Spoken text appears here, with the part that was played and the part that was not.');
  const root = element('section', { class: 'card talk-turns', 'aria-label': 'Turns', tabindex: 0 }, empty, list);
  return {
    root,
    /** @param {HTMLElement} turn */
    add(turn) {
      empty.remove();
      list.append(turn);
      if (list.children.length > turnsShownMax) list.firstElementChild?.remove();
      root.scrollTop = root.scrollHeight;
    },
  };
}

/**
 * The Interrupt button, and the Speak button, which ends the turn.
 * @param {object} options
 * @param {TalkSession} options.session
 * @param {Composer} options.composer
 * @param {() => void} options.onInterrupt
 */
function createControls({ session, composer, onInterrupt }) {
  const key = (/** @type {string} */ name) => element('kbd', { 'aria-hidden': 'true' }, name);
  const stop = element(
    'button',
    { type: 'button', class: 'interrupt', onclick: onInterrupt },
    icon('stop'),
    'Interrupt',
    key('Esc'),
  );
  const say = element(
    'button',
    { type: 'button', class: 'main say', onclick: () => composer.end() },
    icon('enter'),
    'Speak',
    key('↵'),
  );
  return {
    root: element('div', { class: 'row buttons' }, stop, say),
    show() {
      stop.disabled = !session.isSpeaking;
      say.disabled = !composer.hasText && !session.hasOpenTurn;
    },
  };
}

/** @param {unknown} error */
const toNotice = (error) =>
  element('div', { class: 'cut-off' }, icon('warning'), element('div', {}, ...toErrorElements(error)));

/**
 * @typedef {object} ComposerOptions
 * @property {(text: string) => void} onText Called with new text of the turn.
 * @property {() => void} onEnd Called at the end of the turn.
 * @property {() => void} onFocus
 * @property {(text: string) => void} notify
 *
 * @typedef {ReturnType<typeof createComposer>} Composer
 */

/** @param {ComposerOptions} options */
function createComposer({ onText, onEnd, onFocus, notify }) {
  const { field, pace, paceField } = createFields();
  let sent = '';
  /** Aborts the gradual sending of pasted text. */
  let feeding = new AbortController();

  const clear = () => {
    feeding.abort();
    field.readOnly = false;
    field.value = sent = '';
  };
  /** @param {number} length */
  const sendTo = (length) => {
    if (length <= sent.length) return;
    onText(field.value.slice(sent.length, length));
    sent = field.value.slice(0, length);
  };
  const sendComplete = () => {
    if (!field.value.startsWith(sent)) {
      field.value = sent;
      notify('Text that was sent cannot be changed.');
    }
    sendTo(sent.length + completeLength(field.value.slice(sent.length)));
  };
  const end = () => {
    sendTo(field.value.length);
    clear();
    onEnd();
  };
  /** @param {string} text */
  const feed = async (text) => {
    feeding = new AbortController();
    const { signal } = feeding;
    field.readOnly = true;
    const add = (/** @type {string} */ token) => {
      field.value += token;
      sendTo(field.value.length);
    };
    await feedTokens(text, add, signal);
    if (!signal.aborted) end();
  };

  field.addEventListener('focus', onFocus);
  field.addEventListener('input', (event) => {
    if (!(/** @type {InputEvent} */ (event).isComposing)) sendComplete();
  });
  field.addEventListener('compositionend', sendComplete);
  field.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    if (!field.readOnly) end();
  });
  field.addEventListener('paste', (event) => {
    const text = event.clipboardData?.getData('text/plain') ?? '';
    if (pace.value !== 'model' || text === '') return;
    event.preventDefault();
    if (!field.readOnly) void feed(text);
  });

  return {
    field,
    pace: paceField,
    end,
    clear,
    /** Whether the field contains text of the current turn. */
    get hasText() {
      return field.value !== '';
    },
  };
}

function createFields() {
  const field = element('textarea', {
    id: 'talk-text',
    rows: 4,
    placeholder: 'Type, and the voice speaks while you type',
    'aria-describedby': 'talk-help',
  });
  const pace = element(
    'select',
    { id: 'paste-pace' },
    element('option', { value: 'once' }, 'at once'),
    element('option', { value: 'model' }, 'like a language model'),
  );
  const label = element('label', { for: 'paste-pace' }, 'Pasted text arrives');
  return { field, pace, paceField: element('div', { class: 'pace' }, label, pace) };
}

/** Text is sent up to a space or punctuation mark. Characters of scripts without spaces are sent at once. */
const completePattern =
  /[\s.!?…,;:)\]"”。！？、，；：\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;
const tokenPattern = /\s*\S{1,4}|\s+$/gu;
const tokensPerSecond = 40;

/**
 * Returns the length of the text up to the end of its last complete word.
 * @param {string} text
 */
function completeLength(text) {
  for (let end = text.length; end > 0; end--) if (completePattern.test(text.charAt(end - 1))) return end;
  return 0;
}

/**
 * Calls `onToken` with short pieces of the text, at the pace of a language model.
 * @param {string} text
 * @param {(token: string) => void} onToken
 * @param {AbortSignal} signal
 */
async function feedTokens(text, onToken, signal) {
  for (const [token] of text.matchAll(tokenPattern)) {
    if (signal.aborted) return;
    onToken(token);
    await new Promise((resolve) => setTimeout(resolve, 1000 / tokensPerSecond));
  }
}
