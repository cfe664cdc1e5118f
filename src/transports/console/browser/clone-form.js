// The form that clones a voice in four steps: the speaker, a sample recording, a consent recording, and the upload. An
// API error about a recording appears next to that recording.
/** @import { CloningEngine, Voice } from '../../../../gen/openapi.ts' */
/** @import { Child } from './element.js' */
/** @import { PageContext } from './page.d.ts' */
import { serviceUrl } from './api.js';
import { element, fill } from './element.js';
import { clearFieldErrors, field, showApiError, showFieldErrors } from './field.js';
import { loading } from './notices.js';
import { missingScope, pageHead } from './page-elements.js';
import { createRecordingField } from './recording-field.js';
import { accessField, toVoiceAddress } from './voice-elements.js';
import { baseOf, toLanguageName } from './voice-search.js';

const uploadBytesMax = 25 << 20;

/** @param {PageContext} pageContext */
export async function showCloneForm(pageContext) {
  const { root, api, hasScope, signal } = pageContext;
  const head = pageHead({
    back: ['#/voices', 'Voices'],
    title: 'Clone a voice',
    lead: 'You need two short recordings and the consent of the speaker. The consent can be withdrawn at any time.',
  });
  if (!hasScope('voices:write')) return fill(root, head, missingScope('create voices', 'voices:write'));
  fill(root, head, loading('Loading the cloning engines …'));
  /** @type {{ engines: CloningEngine[] }} */
  const { engines } = await api.requestJson('/api/cloning', { signal });
  if (engines.length === 0) return fill(root, head, noCloningCard(hasScope('admin')));
  fill(root, head, element('div', { class: 'beside' }, createForm(pageContext, engines), dataHandlingCard()));
}

/** @param {boolean} mayInstall */
const noCloningCard = (mayInstall) =>
  element(
    'section',
    { class: 'card narrow' },
    element('h2', {}, 'Voice cloning is not available'),
    element('p', {}, 'No engine of this service can clone voices. On its machine, two commands change that:'),
    element('pre', { tabindex: 0, 'aria-label': 'Commands' }, 'sonant voice get zipvoice\nsonant doctor'),
    element(
      'p',
      { class: 'hint' },
      'The first installs a model that clones voices in English and Chinese; the second checks it. ',
      mayInstall && [
        'You can also install it on the page ',
        element('a', { href: '#/voices/+models' }, 'Models'),
        '. ',
      ],
      'The guide ',
      element('a', { href: `${serviceUrl}/docs/voices.md` }, 'Voices'),
      ' lists the other engines, under “Cloning a person”.',
    ),
  );

const dataHandlingCard = () =>
  element(
    'aside',
    { class: 'card', 'aria-labelledby': 'data-handling' },
    element('h2', { id: 'data-handling' }, 'What happens to the recordings'),
    element(
      'ul',
      { class: 'plain' },
      element(
        'li',
        {},
        'The recordings are not stored. The data that the engine derives from them is stored encrypted.',
      ),
      element('li', {}, 'The consent is stored: who gave it, the words, and when.'),
      element(
        'li',
        {},
        'The consent can be withdrawn on the page of the voice. The voice then stops speaking at once and for good, and all its stored audio is deleted.',
      ),
    ),
    element('p', { class: 'hint' }, 'You are responsible for knowing whose voice it is, and that they agree.'),
  );

/**
 * @param {PageContext} pageContext
 * @param {readonly CloningEngine[]} engines
 */
function createForm({ api, signal, notify, showError }, engines) {
  const speaker = createSpeakerFields(engines);
  const reference = createRecordingField({ name: 'reference_audio', label: 'Recording of the speaker', signal });
  const consent = createRecordingField({ name: 'consent_audio', label: 'Recording of the consent', signal });
  const scripts = createCloneScripts({ reference, consent });
  const agreed = element('input', { type: 'checkbox', id: 'agreed' });
  const progress = createSubmitProgress();
  const form = element(
    'form',
    { novalidate: true },
    element(
      'ol',
      { class: 'steps' },
      step('Speaker', ...speaker.fields),
      step('Voice sample', scripts.passage, reference.root, scripts.referenceText),
      step('Consent', scripts.sentence, consent.root),
      step(
        'Create the voice',
        element(
          'div',
          { class: 'field', 'data-field': 'agreed' },
          element(
            'label',
            { class: 'check' },
            agreed,
            element('span', {}, 'The same person speaks in both recordings and knows what they are used for.'),
          ),
          element('p', { class: 'field-error' }),
        ),
        progress.root,
      ),
    ),
  );
  const choose = () => {
    const { engine, languageCode } = speaker.chosen();
    if (engine) scripts.show(engine, languageCode);
  };
  form.addEventListener('change', choose);
  choose();

  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    clearFieldErrors(form);
    const files = { reference_audio: reference.file(), consent_audio: consent.file() };
    const missing = missingIn(files, agreed.checked);
    if (showFieldErrors(form, missing).length < missing.length) return;
    const body = toBody({ ...speaker.values(), ...scripts.values(), ...files });
    try {
      progress.start();
      /** @type {Voice} */
      const voice = await api.upload('/api/voices', body, { signal, onProgress: progress.show });
      location.hash = toVoiceAddress(voice.voice_id);
      notify(voice.status === 'ready' ? `${voice.name} can speak.` : `${voice.name} is being created.`);
    } catch (error) {
      progress.end();
      showApiError(form, error, showError);
    }
  });
  return form;
}

/**
 * @param {string} title
 * @param {...Child} children
 */
const step = (title, ...children) => element('li', { class: 'card' }, element('h2', {}, title), ...children);

/** Creates the submit button, the progress bar of the upload and a status line. */
function createSubmitProgress() {
  const button = element('button', { type: 'submit', class: 'main' }, 'Create the voice');
  const bar = element('progress', { max: 1, 'aria-label': 'Upload' });
  const status = element('p', { class: 'hint', role: 'status' });
  const root = element('div', { class: 'submit-progress' }, button, bar, status);
  bar.hidden = true;
  return {
    root,
    start() {
      button.disabled = true;
      bar.hidden = false;
      bar.value = 0;
      fill(status, 'Uploading the recordings …');
    },
    /** @param {number} fraction */
    show(fraction) {
      bar.value = fraction;
      if (fraction < 1) return;
      // The engine reports no progress, so the bar becomes indeterminate.
      bar.removeAttribute('value');
      fill(status, 'The service checks the recordings and creates the voice. This takes a moment.');
    },
    end() {
      button.disabled = false;
      bar.hidden = true;
      fill(status);
    },
  };
}

/**
 * Returns the errors that can be found without calling the service.
 * @param {{ reference_audio: Blob | undefined, consent_audio: Blob | undefined }} files
 * @param {boolean} isAgreed
 */
function missingIn({ reference_audio, consent_audio }, isAgreed) {
  const missing = [];
  if (!reference_audio) missing.push({ field: 'reference_audio', message: 'record the speaker, or choose a file' });
  if (!consent_audio)
    missing.push({ field: 'consent_audio', message: 'record the consent: a voice is cloned only with consent' });
  if ((reference_audio?.size ?? 0) + (consent_audio?.size ?? 0) > uploadBytesMax)
    missing.push({ field: 'reference_audio', message: 'both recordings together must be at most 25 MiB' });
  if (!isAgreed) missing.push({ field: 'agreed', message: 'confirm this statement' });
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

/** @param {readonly CloningEngine[]} engines */
function createSpeakerFields(engines) {
  const codes = [...new Set(engines.flatMap((engine) => engine.sample_language_codes))];
  const options = codes.map((code) => element('option', { value: code }, toLanguageName(code) || code));
  const speaker = element('input', { name: 'speaker_name', maxlength: 200, autocomplete: 'off' });
  const name = element('input', { name: 'name', maxlength: 200, autocomplete: 'off' });
  const language = element('select', { name: 'language_code' }, options);
  const engine = element('select', { name: 'engines' });
  // Preselects the language of the browser if an engine can clone voices in that language.
  language.value =
    codes.find((code) => code === navigator.language) ??
    codes.find((code) => baseOf(code) === baseOf(navigator.language)) ??
    codes.find((code) => baseOf(code) === 'en') ??
    codes[0] ??
    '';
  const access = accessField('private');
  const engineField = field({ name: 'engines', label: 'Engine', control: engine });
  const showEngines = () => {
    const cloners = engines.filter((each) => each.sample_language_codes.includes(language.value));
    fill(
      engine,
      cloners.map((each) => element('option', { value: each.engine }, each.engine)),
    );
    engineField.hidden = cloners.length < 2;
  };
  language.addEventListener('change', showEngines);
  showEngines();
  return {
    fields: [
      element(
        'div',
        { class: 'pair' },
        field({
          name: 'speaker_name',
          label: 'Speaker',
          control: speaker,
          hint: 'Stored with the consent.',
        }),
        field({ name: 'name', label: 'Name of the voice', control: name, hint: 'Shown in the list of voices.' }),
      ),
      element(
        'div',
        { class: 'pair' },
        field({ name: 'language_code', label: 'Language of both recordings', control: language }),
        engineField,
      ),
      access.root,
    ],
    chosen: () => ({ engine: engines.find((each) => each.engine === engine.value), languageCode: language.value }),
    values: () => ({
      name: name.value.trim(),
      speaker_name: speaker.value.trim(),
      language_code: language.value,
      engines: engine.value,
      access: access.select.value,
    }),
  };
}

/** @param {Record<'reference' | 'consent', import('./recording-field.js').RecordingField>} recordings */
function createCloneScripts({ reference, consent }) {
  const passage = element('div', { class: 'passage' });
  const transcript = element('textarea', { name: 'reference_text', rows: 2, maxlength: 1000 });
  const referenceText = field({
    name: 'reference_text',
    label: 'Transcript of the recording',
    control: transcript,
    hint: 'Word for word. The engine needs the transcript.',
  });
  const customScript = element('textarea', { name: 'consent_script', rows: 2, maxlength: 1000 });
  const customScriptField = field({
    name: 'consent_script',
    label: 'Consent sentence',
    control: customScript,
    hint: 'It must state that the voice is theirs, and that they agree that it is cloned and used.',
  });
  const sentence = element('div', { class: 'passage' });
  let defaultScript = '';
  /** The passage that this form last wrote into the transcript field. */
  let passageText = '';
  /** @type {CloningEngine | undefined} */
  let shownEngine;
  let shownLanguage = '';

  const updateConsentLength = () => {
    const script = customScript.value.trim() || defaultScript;
    if (shownEngine) consent.setLength(consentSeconds(script, shownEngine));
  };
  customScript.addEventListener('input', updateConsentLength);
  return {
    passage,
    sentence,
    referenceText,
    /**
     * @param {CloningEngine} engine
     * @param {string} languageCode
     */
    show(engine, languageCode) {
      if (shownEngine === engine && shownLanguage === languageCode) return;
      [shownEngine, shownLanguage] = [engine, languageCode];
      const text = baseOf(languageCode) === 'en' ? englishPassage : undefined;
      fill(passage, ...toPassage(text, languageCode));
      referenceText.hidden = !engine.needs_reference_text;
      // Never overwrites a transcript that the user has edited.
      if (transcript.value === passageText) transcript.value = text ?? '';
      passageText = text ?? '';
      reference.setLength(engine.sample_seconds);

      const script = consentScriptFor(engine, languageCode);
      defaultScript = script.text;
      customScript.value = script.isRequired ? '' : script.text;
      customScriptField.hidden = script.isRequired;
      fill(sentence, ...toSentence(script, languageCode), customScriptField);
      updateConsentLength();
    },
    values: () => ({
      reference_text: referenceText.hidden ? '' : transcript.value.trim(),
      consent_script: customScript.value.trim(),
    }),
  };
}

/**
 * @param {string | undefined} text
 * @param {string} languageCode
 */
const toPassage = (text, languageCode) => [
  element(
    'p',
    {},
    text
      ? 'The person speaks freely in a quiet room, or reads this:'
      : 'The person speaks freely in a quiet room, about 10 cm from the microphone.',
  ),
  text && element('blockquote', { lang: languageCode }, text),
];

/**
 * @param {{ text: string, isRequired: boolean }} script
 * @param {string} languageCode
 */
const toSentence = ({ text, isRequired }, languageCode) => [
  element(
    'p',
    {},
    isRequired
      ? 'The same person says this sentence, word for word:'
      : 'The same person agrees, in the language of the recordings:',
  ),
  isRequired && element('blockquote', { lang: languageCode, class: 'consent-sentence' }, text),
];

/**
 * The English consent sentence for engines that prescribe no sentence. In other languages, the user writes it.
 */
const defaultScript = 'I am the owner of this voice, and I agree that it is cloned and used to speak here.';
const englishPassage =
  'It rained all night. By morning the river had reached the garden gate, so we carried the chairs inside and made some tea.';

/**
 * Returns the consent sentence, and whether the engine requires its exact wording.
 * @param {CloningEngine} engine
 * @param {string} languageCode
 */
function consentScriptFor({ consent_scripts: scripts }, languageCode) {
  const code =
    Object.keys(scripts).find((each) => each.toLowerCase() === languageCode.toLowerCase()) ??
    Object.keys(scripts).find((each) => baseOf(each) === baseOf(languageCode));
  const required = code === undefined ? undefined : scripts[code];
  return { text: required ?? (baseOf(languageCode) === 'en' ? defaultScript : ''), isRequired: required !== undefined };
}

/**
 * The allowed length of a consent recording. The minimum assumes 30 characters per second, faster than anyone speaks.
 * @param {string} script
 * @param {CloningEngine} engine
 */
const consentSeconds = (script, { sample_seconds: { max } }) => ({
  min: Math.max(1, (script.match(/[\p{L}\p{N}]/gu)?.length ?? 0) / 30),
  max: Math.max(max, 30),
});
