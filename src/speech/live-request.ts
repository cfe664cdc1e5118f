// What live speech starts with, checked: the fields of a request as fields.ts has them, with the formats and sample rates
// of telephones besides, and how long a text that does not go on is waited for.
import { liveFormatNames, liveSampleRatesHz } from '../audio/formats.ts';
import { Failure, type FieldViolation } from '../errors.ts';
import { type FieldRow, oneOf, type ReportViolation, speechFields } from './fields.ts';
import type { LiveFields } from './live-plan.ts';

export interface LiveStart extends LiveFields {
  /** How long a text that does not go on is waited for, before what there is of it is spoken. */
  bufferMs: number;
}

const bufferMsMax = 10_000;
const bufferMsDefault = 1000;

/** The rows of the start message, by the names of `LiveStart`. */
export const liveFields: { readonly [Name in keyof LiveStart]: FieldRow<LiveStart[Name]> } = {
  voiceId: speechFields.voiceId,
  sampleRateHz: {
    ...speechFields.sampleRateHz,
    schema: { ...speechFields.sampleRateHz.schema, enum: liveSampleRatesHz, default: 24000 },
    parse: oneOf(liveSampleRatesHz, 24000),
  },
  languageCode: speechFields.languageCode,
  format: {
    ...speechFields.format,
    schema: {
      type: 'string',
      enum: liveFormatNames,
      default: 'pcm',
      description:
        'Encoding of the audio; `ulaw` and `alaw` are G.711, the sound of telephones. Each turn is one file.',
    },
    parse: oneOf(liveFormatNames, 'pcm'),
  },
  speakingRate: speechFields.speakingRate,
  timestamps: speechFields.timestamps,
  markup: {
    ...speechFields.markup,
    schema: {
      ...speechFields.markup.schema,
      description:
        '`pauses`: `[pause:1.5s]` in the text is a pause. `ssml`: a turn whose text begins with `<speak` is an SSML ' +
        'document, spoken when the turn ends. Without it, both are plain text.',
    },
  },
  normalize: speechFields.normalize,
  lexiconIds: speechFields.lexiconIds,
  instructions: speechFields.instructions,
  seed: speechFields.seed,
  bufferMs: {
    json: 'buffer_ms',
    schema: {
      type: 'integer',
      minimum: 0,
      maximum: bufferMsMax,
      default: bufferMsDefault,
      description: 'How long to wait for more text, in milliseconds, before the text there is is spoken.',
    },
    parse(given, report) {
      if (given === undefined) return bufferMsDefault;
      if (!Number.isInteger(given)) report('type', 'must be an integer');
      else if (Number(given) < 0 || Number(given) > bufferMsMax) report('range', `must be 0 to ${bufferMsMax}`);
      else return Number(given);
      return bufferMsDefault;
    },
    changesSound: false,
  },
};

/** What `fields` describe under their JSON names, or a Failure with every violation in them. */
export function parseLiveStart(fields: Readonly<Record<string, unknown>>): LiveStart {
  const details: FieldViolation[] = [];
  const entries = Object.entries(liveFields).map(([name, row]) => {
    const { json, parse } = row as FieldRow<unknown>;
    const report: ReportViolation = (reason, message, allowed) =>
      void details.push({ field: json, reason, message, ...(allowed && { allowed }) });
    return [name, parse(fields[json] ?? undefined, report)] as const;
  });
  if (details.length > 0) throw new Failure('invalid_request', { details });
  return Object.fromEntries(entries) as unknown as LiveStart;
}
