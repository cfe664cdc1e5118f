// A person becomes a voice, step by step: who it is, how they speak, that they agree, and the making of it. What the service
// finds wrong with a recording is told at that recording.
/** @import { Child } from './element.js' */
/** @import { Desk } from './page.d.ts' */
/** @import { CloningEngine, Voice } from './wire.d.ts' */
import { createPerson } from './clone-person.js';
import { createWords } from './clone-words.js';
import { element, fill } from './element.js';
import { clearFaults, showFaults, showRefusal } from './field.js';
import { loading } from './notices.js';
import { createRecordingField } from './recording-field.js';
import { notWithThisKey, toVoiceAddress } from './voice-words.js';

const uploadBytesMax = 25 << 20;

/** @param {Desk} desk */
export async function showCloneForm(desk) {
  const { room, api, may, signal } = desk;
  const head = [
    element('a', { class: 'back', href: '#/voices' }, '‹ Voices'),
    element('h1', { tabindex: -1 }, 'Clone a voice'),
    element(
      'p',
      { class: 'lead' },
      'Two short recordings, and somebody speaks here who agrees to it. Their voice stays theirs: it can be taken back at any time.',
    ),
  ];
  if (!may('voices:write')) return fill(room, ...head, notWithThisKey());
  fill(room, ...head, loading('Asking how people can be cloned here …'));
  /** @type {{ engines: CloningEngine[] }} */
  const { engines } = await api.ask('/api/cloning', { signal });
  if (engines.length === 0) return fill(room, ...head, notHere());
  fill(room, ...head, element('div', { class: 'beside' }, createForm(desk, engines), whatBecomes()));
}

const notHere = () =>
  element(
    'section',
    { class: 'card narrow' },
    element('h2', {}, 'Nobody can be cloned here yet'),
    element('p', {}, 'None of the engines of this service makes clones. Whoever runs it can add one that does:'),
    element(
      'ul',
      { class: 'plain' },
      element(
        'li',
        {},
        'a model on the machine that speaks from a sample of a voice; ',
        element('code', {}, 'sonant doctor'),
        ' tells what is there;',
      ),
      element('li', {}, 'a cloud that clones, with an account there.'),
    ),
    element('p', { class: 'hint' }, 'The page “Engines” of the documents says how, step by step.'),
  );

const whatBecomes = () =>
  element(
    'aside',
    { class: 'card', 'aria-labelledby': 'what-becomes' },
    element('h2', { id: 'what-becomes' }, 'What becomes of it'),
    element(
      'ul',
      { class: 'plain' },
      element('li', {}, 'The recordings are not kept as they are. What the engine makes of them is, encrypted.'),
      element('li', {}, 'The consent stays on record: who gave it, what was said, and when.'),
      element(
        'li',
        {},
        'It can be withdrawn on the voice’s own page. The voice is silent at once and for good, and all stored audio of it is gone.',
      ),
    ),
    element('p', { class: 'hint' }, 'Whose voice it is, and that they agree, is for you to know.'),
  );

/**
 * @param {Desk} desk
 * @param {readonly CloningEngine[]} engines
 */
function createForm({ api, signal, say, complain }, engines) {
  const person = createPerson(engines);
  const reference = createRecordingField({ name: 'reference_audio', label: 'Recording of the person', signal });
  const consent = createRecordingField({ name: 'consent_audio', label: 'Recording of the consent', signal });
  const words = createWords({ reference, consent });
  const agreed = element('input', { type: 'checkbox', id: 'agreed' });
  const making = createMaking();
  const form = element(
    'form',
    { novalidate: true },
    element(
      'ol',
      { class: 'steps' },
      step('Who is it?', ...person.fields),
      step('How they speak', words.passage, reference.root, words.referenceText),
      step('That they agree', words.sentence, consent.root),
      step(
        'Make the voice',
        element(
          'div',
          { class: 'field', 'data-field': 'agreed' },
          element(
            'label',
            { class: 'check' },
            agreed,
            element('span', {}, 'The same person speaks on both recordings, and knows what they are for.'),
          ),
          element('p', { class: 'field-trouble' }),
        ),
        making.root,
      ),
    ),
  );
  const choose = () => {
    const { engine, languageCode } = person.chosen();
    if (engine) words.show(engine, languageCode);
  };
  form.addEventListener('change', choose);
  choose();

  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    clearFaults(form);
    const files = { reference_audio: reference.file(), consent_audio: consent.file() };
    const missing = missingIn(files, agreed.checked);
    if (showFaults(form, missing).length < missing.length) return;
    const body = toBody({ ...person.values(), ...words.values(), ...files });
    try {
      making.begin();
      /** @type {Voice} */
      const voice = await api.upload('/api/voices', body, { signal, onProgress: making.show });
      location.hash = toVoiceAddress(voice.voice_id);
      say(voice.status === 'ready' ? `${voice.name} can speak.` : `${voice.name} is being made.`);
    } catch (error) {
      making.end();
      showRefusal(form, error, complain);
    }
  });
  return form;
}

/**
 * @param {string} title
 * @param {...Child} children
 */
const step = (title, ...children) => element('li', { class: 'card' }, element('h2', {}, title), ...children);

/** How far the making of it is: sent, then listened to. */
function createMaking() {
  const button = element('button', { type: 'submit', class: 'main' }, 'Make the voice');
  const bar = element('progress', { max: 1, 'aria-label': 'Upload' });
  const told = element('p', { class: 'hint', role: 'status' });
  const root = element('div', { class: 'making' }, button, bar, told);
  bar.hidden = true;
  return {
    root,
    begin() {
      button.disabled = true;
      bar.hidden = false;
      bar.value = 0;
      fill(told, 'Sending the recordings …');
    },
    /** @param {number} share */
    show(share) {
      bar.value = share;
      if (share < 1) return;
      // From here on nobody knows how long.
      bar.removeAttribute('value');
      fill(told, 'The recordings are listened to, and the voice is made. This takes a moment.');
    },
    end() {
      button.disabled = false;
      bar.hidden = true;
      fill(told);
    },
  };
}

/**
 * What needs no question to the service.
 * @param {{ reference_audio: Blob | undefined, consent_audio: Blob | undefined }} files
 * @param {boolean} isAgreed
 */
function missingIn({ reference_audio, consent_audio }, isAgreed) {
  const missing = [];
  if (!reference_audio) missing.push({ field: 'reference_audio', message: 'record the person, or choose a file' });
  if (!consent_audio) missing.push({ field: 'consent_audio', message: 'record the consent; nobody is cloned without' });
  if ((reference_audio?.size ?? 0) + (consent_audio?.size ?? 0) > uploadBytesMax)
    missing.push({ field: 'reference_audio', message: 'both recordings together may have 25 MiB' });
  if (!isAgreed) missing.push({ field: 'agreed', message: 'say that it is so' });
  return missing;
}

/** @param {Record<string, string | Blob | undefined>} values */
function toBody(values) {
  const body = new FormData();
  for (const [name, value] of Object.entries(values)) {
    if (typeof value === 'string' ? value !== '' : value) body.set(name, /** @type {string} */ (value));
  }
  return body;
}
