// What the person is to say: something of their own, or read aloud; and the sentence of consent. Where the engine has no
// sentence of its own for their language, they choose one.
/** @import { CloningEngine } from './wire.d.ts' */
import { consentSeconds, passageFor, scriptFor } from './cloning.js';
import { element, fill } from './element.js';
import { field } from './field.js';

/** @param {Record<'reference' | 'consent', import('./recording-field.js').RecordingField>} recordings */
export function createWords({ reference, consent }) {
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
  /** What stands in the field because it is to be read. */
  let readAloud = '';
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
      fill(passage, ...toPassage(text, languageCode));
      referenceText.hidden = !engine.needs_reference_text;
      // What people wrote themselves stays.
      if (said.value === readAloud) said.value = text ?? '';
      readAloud = text ?? '';
      reference.want(engine.sample_seconds);

      const script = scriptFor(engine, languageCode);
      given = script.text;
      own.value = script.isOwn ? '' : script.text;
      ownField.hidden = script.isOwn;
      fill(sentence, ...toSentence(script, languageCode), ownField);
      showConsent();
    },
    values: () => ({
      reference_text: referenceText.hidden ? '' : said.value.trim(),
      consent_script: own.value.trim(),
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
      ? 'Let them talk as they like, in a quiet room; or read this:'
      : 'Let them talk as they like, in a quiet room, a hand’s breadth from the microphone.',
  ),
  text && element('blockquote', { lang: languageCode }, text),
];

/**
 * @param {{ text: string, isOwn: boolean }} script
 * @param {string} languageCode
 */
const toSentence = ({ text, isOwn }, languageCode) => [
  element(
    'p',
    {},
    isOwn
      ? 'The same person says this sentence, word by word:'
      : 'The same person says that they agree, in their language:',
  ),
  isOwn && element('blockquote', { lang: languageCode, class: 'consent-sentence' }, text),
];
