// Fields of the clone form: the name of the speaker, the name of the voice, the language of the recordings, the engine, and
// who may use the voice.
/** @import { CloningEngine } from '../../../gen/openapi.ts' */
import { cloningEnginesFor, defaultLanguage, sampleLanguagesOf } from './cloning-options.js';
import { element, fill } from './element.js';
import { field } from './field.js';
import { accessField } from './voice-elements.js';
import { toLanguageName } from './voice-search.js';

/** @param {readonly CloningEngine[]} engines */
export function createSpeakerFields(engines) {
  const codes = sampleLanguagesOf(engines);
  const options = codes.map((code) => element('option', { value: code }, toLanguageName(code)));
  const speaker = element('input', { name: 'speaker_name', maxlength: 200, autocomplete: 'off' });
  const name = element('input', { name: 'name', maxlength: 200, autocomplete: 'off' });
  const language = element('select', { name: 'language_code' }, options);
  const engine = element('select', { name: 'engines' });
  language.value = defaultLanguage(codes) ?? '';
  const access = accessField('private');
  const engineField = field({ name: 'engines', label: 'Engine', control: engine });
  const showEngines = () => {
    const cloners = cloningEnginesFor(engines, language.value);
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
