// The command-line flags of the fields of a speech request, by the names of the fields in JSON.
import { speechFields } from '../../speech.ts';

export interface SpeechFlag {
  name: string;
  short?: string;
  /** Name of the flag's value in the help; absent if the flag has no value. */
  value?: string;
  isNumber?: true;
  /** Value of the field if a flag without a value is given. */
  set?: unknown;
  help: string;
}

export const speechFlags = {
  voice_id: {
    name: 'voice',
    short: 'v',
    value: 'ID',
    help: 'the voice, by id or alias; default: the first of sonant voice list, with -l the first that speaks CODE',
  },
  sample_rate: {
    name: 'sample-rate',
    value: 'HZ',
    isNumber: true,
    help: `${speechFields.outputSampleRatesHz.slice(0, -1).join(', ')} or ${speechFields.outputSampleRatesHz.at(-1)}; default: 44100`,
  },
  language_code: {
    name: 'language',
    short: 'l',
    value: 'CODE',
    help: 'language of the text, such as en-GB; auto: detected for each sentence; default: the language of the voice',
  },
  output_format: {
    name: 'format',
    short: 'f',
    value: 'FORMAT',
    help: `${speechFields.formatNames.join(', ')}; default: by the extension of FILE, else wav`,
  },
  speaking_rate: {
    name: 'speaking-rate',
    short: 'r',
    value: 'N',
    isNumber: true,
    help: `${speechFields.speakingRates.min} to ${speechFields.speakingRates.max}; 2 is twice as fast; default: 1`,
  },
  timestamps: { name: 'timestamps', set: 'word', help: 'with --json: start and end of each word, in seconds' },
  markup: {
    name: 'markup',
    value: 'KIND',
    help: 'pauses: [pause:1.5s] in the text is a pause; ssml: a text that begins with <speak is a document',
  },
  normalize: { name: 'no-normalize', set: false, help: 'leave numbers, signs and abbreviations to the engine' },
  lexicon_ids: {
    name: 'lexicon',
    value: 'ID',
    help: 'pronunciations: id or file of a lexicon; the first lexicon with a word applies',
  },
  instructions: {
    name: 'instructions',
    value: 'TEXT',
    help: 'how to speak, such as "Whisper."; for engines that follow it',
  },
  seed: { name: 'seed', value: 'N', isNumber: true, help: 'seed of random choices, for engines that accept seeds' },
} as const satisfies Readonly<Record<string, SpeechFlag>>;

type Rows = typeof speechFlags;

export type SpeechFlagValues = {
  [Field in keyof Rows as Rows[Field]['name']]?: Rows[Field] extends { value: string } ? string : boolean;
};

/** The flag of a field, such as "lexicon_ids[2]"; undefined if the field has no flag. */
export function flagOfField(field: string): string | undefined {
  const name = field.replace(/\[.*/, '');
  return Object.hasOwn(speechFlags, name) ? `--${speechFlags[name as keyof typeof speechFlags].name}` : undefined;
}

export const speechFieldsOf = (flags: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(speechFlags as Readonly<Record<string, SpeechFlag>>).flatMap(([field, { name, isNumber, set }]) => {
      const value = flags[name];
      if (value === undefined) return [];
      return [[field, isNumber ? Number(value) : value === true ? set : value]];
    }),
  );
