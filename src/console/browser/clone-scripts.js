// The texts for the two recordings: a passage to read aloud or free speech, and the consent sentence. If the engine
// requires no sentence in the language, the speaker writes one.
/** @import { CloningEngine } from '../../../gen/openapi.ts' */
import { consentScriptFor, consentSeconds, samplePassageFor } from './cloning-options.js';
import { element, fill } from './element.js';
import { field } from './field.js';

/** @param {Record<'reference' | 'consent', import('./recording-field.js').RecordingField>} recordings */
export function createCloneScripts({ reference, consent }) {
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
  /** The passage that was put into the transcript field. */
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
      const text = samplePassageFor(languageCode);
      fill(passage, ...toPassage(text, languageCode));
      referenceText.hidden = !engine.needs_reference_text;
      // A transcript that the user has edited is kept.
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
