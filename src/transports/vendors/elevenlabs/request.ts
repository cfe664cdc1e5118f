// Parses an ElevenLabs client's request into the start of live speech. The format is in the URL. The voice is in the URL
// or, for each line of a dialogue, in the body. The speed is in the body or in the first message of a context.
// Unsupported fields (model, other voice settings) are ignored, as ElevenLabs tolerates them.
//     {voice_id}?output_format=pcm_24000&language_code=en&auto_mode=true&inactivity_timeout=180&sync_alignment=true
//     {"text","voice_settings":{"speed"},"seed","apply_text_normalization","pronunciation_dictionary_locators"}
//     {"inputs":[{"text","voice_id"}],"settings",...}
import { liveWaitingTurnsMax } from '../../../api.ts';
import { audioFormats, type FormatName, mp3BitRates } from '../../../audio.ts';
import { type Fields, isObject, type UnknownField } from '../../../contract.ts';
import type { FieldViolation } from '../../../platform/errors.ts';
import { type SpeechRequest, speechFields } from '../../../speech.ts';
import { contextIdleMsDefault, contextIdleMsMax } from '../../http/http-limits.ts';
import { sortFields, unknownIn } from '../../http/request-fields.ts';
import { readStart } from '../speech-contexts.ts';

/** A text and its voice. A dialogue has several, and each is a turn of live speech. */
export interface Line {
  text: string;
  voiceId: string;
}

interface Generation {
  start: SpeechRequest;
  lines: readonly Line[];
  ignored: readonly UnknownField[];
}

/** Settings shared by all contexts of a connection. */
export type SocketSettings = ReturnType<typeof parseSocketSettings>;

const formatDefault = 'mp3_44100_128';
const bufferMs = 1000;
/** Parameters in which a client may send its key or a token. */
const keyNames = ['xi-api-key', 'api_key', 'xi_api_key', 'single_use_token'];
const speechNames = ['output_format', 'language_code', 'seed', 'apply_text_normalization'];
const queryNames = [...speechNames, 'auto_mode', 'inactivity_timeout', 'sync_alignment'];
const bodyNames = [...speechNames, 'pronunciation_dictionary_locators'];
const settingNames = ['speed'];

/** Parses the body of an HTTP request together with its query. Without a voice in the URL, the request is a dialogue. */
export function parseGeneration(voiceId: string | undefined, query: Fields, body: Fields): Generation {
  const isDialogue = voiceId === undefined;
  const settingsName = isDialogue ? 'settings' : 'voice_settings';
  const asked = sortFields(query, [...queryNames, ...keyNames]);
  const given = sortFields(body, [...bodyNames, isDialogue ? 'inputs' : 'text', settingsName, ...keyNames]);
  const { text, inputs, [settingsName]: settings } = given.fields;
  const faults: FieldViolation[] = [];
  const lines = isDialogue ? readLines(inputs, faults) : [{ text: readText('text', text, faults), voiceId }];
  // A voice that is missing has been reported already.
  const start = toStart(lines[0]?.voiceId || '-', { ...given.fields, ...asked.fields }, settings, faults);
  const ofSettings = ignoredSettings(settings, settingsName);
  return { start, lines, ignored: [...asked.ignored, ...given.ignored, ...ofSettings] };
}

/** Parses the query of a WebSocket. */
export function parseSocketSettings(query: Fields) {
  const { fields, ignored } = sortFields(query, [...queryNames, ...keyNames]);
  const { auto_mode: auto, sync_alignment: sync, inactivity_timeout: timeout } = fields;
  return {
    /** The start of a context with this voice and this first message. */
    startWith: (voiceId: string | undefined, first: Fields = {}): SpeechRequest => {
      const { voice_settings: settings, pronunciation_dictionary_locators: locators } = first;
      return toStart(voiceId, { ...fields, pronunciation_dictionary_locators: locators }, settings, []);
    },
    /** Whether each text is a complete phrase. If such a text ends a sentence, that sentence is spoken at once. */
    isAuto: isTrue(auto),
    /** Whether character times count from the start of the context, instead of from the end of the previous message. */
    isAbsolute: isTrue(sync),
    contextIdleMs: Number(timeout) > 0 ? Math.min(Number(timeout) * 1000, contextIdleMsMax) : contextIdleMsDefault,
    ignored,
  };
}

const isTrue = (value: unknown) => String(value).toLowerCase() === 'true';

function toStart(
  voiceId: string | undefined,
  { output_format: output, language_code: language, seed, ...fields }: Fields,
  settings: unknown,
  faults: FieldViolation[],
): SpeechRequest {
  const { apply_text_normalization: normalization = 'auto', pronunciation_dictionary_locators: locators } = fields;
  if (!normalizations.includes(normalization as string))
    faults.push({ field: 'apply_text_normalization', reason: 'enum', message: 'must be auto, on or off' });
  const { format, sample_rate } = readOutputFormat(output ?? formatDefault, faults);
  const start = {
    voice_id: voiceId,
    output_format: format && audioFormats[format].name,
    sample_rate,
    language_code: language ?? speechFields.ownLanguage,
    speaking_rate: isObject(settings) ? (settings.speed ?? undefined) : undefined,
    // In a query, the seed is a string.
    seed: typeof seed === 'string' && /^\d+$/.test(seed) ? Number(seed) : seed,
    normalize: normalization !== 'off',
    lexicon_ids: Array.isArray(locators) ? locators.map(lexiconIdIn) : (locators ?? undefined),
    timestamps: 'word',
    buffer_ms: bufferMs,
  };
  const parsed = readStart(start, faults);
  return { ...parsed, format: format ?? parsed.format, markup: 'vendor' };
}

/** Parses a format such as mp3_44100_128: encoding, sample rate, and bit rate, which Sonant chooses for Opus. */
function readOutputFormat(given: unknown, faults: FieldViolation[]): { format?: FormatName; sample_rate?: number } {
  const [, encoding, rate, bits = '128'] =
    /^(pcm|mp3|wav|opus|ulaw|alaw)_(\d+)(?:_(\d+))?$/.exec(typeof given === 'string' ? given : '') ?? [];
  const sample_rate = Number(rate);
  const format = encoding === 'mp3' ? `mp3_${bits}` : encoding;
  if (format !== undefined && isFormat(format) && speechFields.liveSampleRatesHz.includes(sample_rate))
    return { format, sample_rate };
  const message = `must be pcm, mp3, wav, opus, ulaw or alaw at ${speechFields.liveSampleRatesHz.join(', ')} Hz, such as mp3_44100_128; mp3 has ${mp3BitRates.join(', ')} kbit/s`;
  faults.push({ field: 'output_format', reason: 'enum', message });
  return {};
}

const isFormat = (name: string): name is FormatName => Object.hasOwn(audioFormats, name);

const normalizations = ['auto', 'on', 'off'];

/** A pronunciation dictionary is a lexicon. */
const lexiconIdIn = (locator: unknown) => (isObject(locator) ? locator.pronunciation_dictionary_id : locator);

/** Reads the lines of a dialogue. The whole dialogue is refused if one of them cannot be spoken. */
function readLines(inputs: unknown, faults: FieldViolation[]): Line[] {
  const given = Array.isArray(inputs) ? inputs : [];
  const { length } = given;
  if (length === 0) faults.push({ field: 'inputs', reason: 'required', message: 'must have at least one text' });
  const message = `has ${length} texts, over the limit of ${liveWaitingTurnsMax}; split the dialogue`;
  if (length > liveWaitingTurnsMax) faults.push({ field: 'inputs', reason: 'too_long', message });
  return given.slice(0, liveWaitingTurnsMax).map((input, i) => {
    const { text, voice_id: voiceId = '' }: Fields = isObject(input) ? input : {};
    const read = (name: string, value: unknown) => readText(`inputs[${i}].${name}`, value, faults);
    return { text: read('text', text), voiceId: read('voice_id', voiceId) };
  });
}

function readText(field: string, text: unknown, faults: FieldViolation[]): string {
  if (typeof text !== 'string') faults.push({ field, reason: 'type', message: 'must be a string' });
  else if (text.trim() === '') faults.push({ field, reason: 'blank', message: 'must contain more than white space' });
  return typeof text === 'string' ? text : '';
}

function ignoredSettings(settings: unknown, name: string): readonly UnknownField[] {
  if (isObject(settings)) return unknownIn(settings, settingNames, `${name}.`);
  return (settings ?? undefined) === undefined ? [] : [{ name, meant: undefined }];
}
