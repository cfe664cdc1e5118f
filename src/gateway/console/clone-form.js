// A person becomes a voice, step by step: who it is, how they speak, that they agree, and the making of it. What the service
// finds wrong with a recording is told at that recording.
/** @import { Child } from './element.js' */
/** @import { Desk } from './page.d.ts' */
/** @import { CloningEngine, Voice } from './wire.d.ts' */
import { clonersFor, consentSeconds, passageFor, sampleLanguagesOf, scriptFor, usualLanguage } from './cloning.js';
import { element, fill } from './element.js';
import { clearFaults, field, showFaults, showRefusal } from './field.js';
import { createRecordingField } from './recording-field.js';
import { toLanguageName } from './voice-names.js';
import { toVoiceAddress } from './voice-words.js';

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
  if (!may('voices:write')) return fill(room, ...head, notWith());
  fill(room, ...head, element('p', { class: 'hint', role: 'status' }, 'Asking how people can be cloned here …'));
  /** @type {{ engines: CloningEngine[] }} */
  const { engines } = await api.ask('/api/cloning', { signal });
  fill(room, ...head, engines.length > 0 ? createForm(desk, engines) : notHere());
}

const notWith = () =>
  element(
    'section',
    { class: 'card narrow' },
    element('h2', {}, 'Not with this key'),
    element(
      'p',
      {},
      'It lacks ',
      element('code', {}, 'voices:write'),
      '. Use a key that has it; ',
      element('a', { href: '#/keys' }, 'Keys'),
      ' tells what this one has.',
    ),
  );

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
      if (!signal.aborted) tell(form, error, complain);
    }
  });
  return form;
}

/** @type {(form: HTMLElement, error: unknown, complain: (error: unknown) => void) => void} */
function tell(form, error, complain) {
  try {
    showRefusal(form, error);
  } catch (rest) {
    complain(rest);
  }
}

/**
 * @param {string} title
 * @param {...Child} children
 */
const step = (title, ...children) => element('li', { class: 'card' }, element('h2', {}, title), ...children);

/** @param {readonly CloningEngine[]} engines */
function createPerson(engines) {
  const codes = sampleLanguagesOf(engines);
  const options = codes.map((code) => element('option', { value: code }, toLanguageName(code)));
  const speaker = element('input', { name: 'speaker_name', maxlength: 200, autocomplete: 'off' });
  const name = element('input', { name: 'name', maxlength: 200, autocomplete: 'off' });
  const language = element('select', { name: 'language_code' }, options);
  const engine = element('select', { name: 'engines' });
  language.value = usualLanguage(codes) ?? '';
  const engineField = field({ name: 'engines', label: 'Cloned by', control: engine });
  const offer = () => {
    const cloners = clonersFor(engines, language.value);
    fill(
      engine,
      cloners.map((each) => element('option', { value: each.engine }, each.engine)),
    );
    engineField.hidden = cloners.length < 2;
  };
  language.addEventListener('change', offer);
  offer();
  return {
    fields: [
      element(
        'div',
        { class: 'pair' },
        field({
          name: 'speaker_name',
          label: 'The person',
          control: speaker,
          hint: 'Told with the consent that they give.',
        }),
        field({ name: 'name', label: 'Name of the voice', control: name, hint: 'What everybody here will see.' }),
      ),
      element(
        'div',
        { class: 'pair' },
        field({ name: 'language_code', label: 'Language of both recordings', control: language }),
        engineField,
      ),
    ],
    chosen: () => ({ engine: engines.find((each) => each.engine === engine.value), languageCode: language.value }),
    values: () => ({
      ...{ name: name.value.trim(), speaker_name: speaker.value.trim() },
      ...{ language_code: language.value, engines: engine.value },
    }),
  };
}

/** @param {Record<'reference' | 'consent', import('./recording-field.js').RecordingField>} recordings */
function createWords({ reference, consent }) {
  const passage = element('div', { class: 'passage' });
  const said = element('textarea', { name: 'reference_text', rows: 2, maxlength: 1000 });
  const referenceText = field({
    name: 'reference_text',
    label: 'What is said in it',
    control: said,
    hint: 'Word by word: the engine must be told.',
  });
  const own = element('textarea', { name: 'consent_script', rows: 2, maxlength: 1000 });
  const ownField = field({
    name: 'consent_script',
    label: 'What they say',
    control: own,
    hint: 'That it is their voice, and that they agree to its being cloned and spoken with.',
  });
  const sentence = element('div', { class: 'passage' });
  let given = '';
  /** @type {CloningEngine | undefined} */
  let shownFor;
  let languageOf = '';

  const showConsent = () => {
    const script = own.value.trim() || given;
    if (shownFor) consent.want(consentSeconds(script, shownFor));
  };
  own.addEventListener('input', showConsent);
  return {
    passage,
    sentence,
    referenceText,
    /**
     * @param {CloningEngine} engine
     * @param {string} languageCode
     */
    show(engine, languageCode) {
      if (shownFor === engine && languageOf === languageCode) return;
      [shownFor, languageOf] = [engine, languageCode];
      const text = passageFor(languageCode);
      fill(
        passage,
        element(
          'p',
          {},
          text
            ? 'Let them talk as they like, in a quiet room; or read this:'
            : 'Let them talk as they like, in a quiet room, a hand’s breadth from the microphone.',
        ),
        text && element('blockquote', { lang: languageCode }, text),
      );
      referenceText.hidden = !engine.needs_reference_text;
      if (said.value === '' && text) said.value = text;
      reference.want(engine.sample_seconds);

      const script = scriptFor(engine, languageCode);
      given = script.text;
      own.value = script.isOwn ? '' : script.text;
      ownField.hidden = script.isOwn;
      fill(
        sentence,
        element(
          'p',
          {},
          script.isOwn
            ? 'The same person says this sentence, word by word:'
            : 'The same person says that they agree, in their language:',
        ),
        script.isOwn && element('blockquote', { lang: languageCode, class: 'consent-sentence' }, script.text),
        ownField,
      );
      showConsent();
    },
    values: () => ({
      reference_text: referenceText.hidden ? '' : said.value.trim(),
      consent_script: own.value.trim(),
    }),
  };
}

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
