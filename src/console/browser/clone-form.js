// The form that clones a voice in four steps: the speaker, a sample recording, a consent recording, and the upload. Errors
// of the API about a recording are shown at that recording.
/** @import { Child } from './element.js' */
/** @import { PageContext } from './page.d.ts' */
/** @import { CloningEngine, Voice } from '../../../gen/openapi.ts' */
import { serviceUrl } from './api.js';
import { createCloneScripts } from './clone-scripts.js';
import { createSpeakerFields } from './clone-speaker.js';
import { element, fill } from './element.js';
import { clearFieldErrors, showApiError, showFieldErrors } from './field.js';
import { loading } from './notices.js';
import { createRecordingField } from './recording-field.js';
import { missingWriteScopeCard, toVoiceAddress } from './voice-elements.js';

const uploadBytesMax = 25 << 20;

/** @param {PageContext} pageContext */
export async function showCloneForm(pageContext) {
  const { root, api, hasScope, signal } = pageContext;
  const head = [
    element('a', { class: 'back', href: '#/voices' }, '‹ Voices'),
    element('h1', { tabindex: -1 }, 'Clone a voice'),
    element(
      'p',
      { class: 'lead' },
      'You need two short recordings and the consent of the speaker. The consent can be withdrawn at any time.',
    ),
  ];
  if (!hasScope('voices:write')) return fill(root, ...head, missingWriteScopeCard());
  fill(root, ...head, loading('Loading the cloning engines …'));
  /** @type {{ engines: CloningEngine[] }} */
  const { engines } = await api.requestJson('/api/cloning', { signal });
  if (engines.length === 0) return fill(root, ...head, noCloningCard(hasScope('admin')));
  fill(root, ...head, element('div', { class: 'beside' }, createForm(pageContext, engines), dataHandlingCard()));
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
      element('a', { href: `${serviceUrl}/docs/voices.md#cloning-a-person` }, 'Cloning a person'),
      ' lists the other engines.',
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

/** The submit button, the progress of the upload, and the wait for the engine. */
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
      // The engine reports no progress.
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
