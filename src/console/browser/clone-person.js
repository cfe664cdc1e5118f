// Who is to be cloned, what the voice will be called, the language of the recordings, and the engine that clones.
/** @import { CloningEngine } from './wire.d.ts' */
import { clonersFor, sampleLanguagesOf, usualLanguage } from './cloning.js';
import { element, fill } from './element.js';
import { field } from './field.js';
import { toLanguageName } from './voice-names.js';

/** @param {readonly CloningEngine[]} engines */
export function createPerson(engines) {
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
