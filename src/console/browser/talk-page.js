// The Talk page: speaks text while it is typed, and can be interrupted. Shows which text was heard, and the delay
// before the first audio.
/** @import { PageContext, Page } from './page.d.ts' */
/** @import { Voice } from '../../../gen/openapi.ts' */
import { element, fill } from './element.js';
import { icon } from './icon.js';
import { toErrorElements } from './notices.js';
import { showWithVoices } from './ready-voices.js';
import { createSpeechSettings, expandWhenWide } from './speech-settings.js';
import { createComposer } from './talk-composer.js';
import { TalkSession } from './talk-session.js';
import { createPreview } from './voice-preview.js';

/** Older turns are removed. */
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

  // The voice settings look and behave as those of the Speak page.
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
 * @param {import('./talk-composer.js').Composer} composer
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

/** The turns, the newest at the end. */
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
 * The buttons that interrupt, and that end the turn.
 * @param {object} options
 * @param {TalkSession} options.session
 * @param {import('./talk-composer.js').Composer} options.composer
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
