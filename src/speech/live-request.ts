// Parses the start of live speech: the fields of fields.ts, plus the formats and sample rates of telephones, and
// `bufferMs`.
import { liveFormatNames, liveSampleRatesHz } from '../audio/formats.ts';
import { Failure, type FieldViolation } from '../errors.ts';
import { type FieldRow, oneOf, type ReportViolation, speechFields } from './fields.ts';
import type { LiveFields } from './live-plan.ts';

export interface LiveStart extends LiveFields {
  /** How long to wait for more text before an incomplete sentence is spoken. */
  bufferMs: number;
}

const bufferMsMax = 10_000;
const bufferMsDefault = 1000;

/** Rows of the start message, by the names of `LiveStart`. */
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
        'Encoding of the audio; `ulaw` and `alaw` are G.711, the encoding of telephones. Each turn is one file.',
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
  bufferMs: {
    json: 'buffer_ms',
    schema: {
      type: 'integer',
      minimum: 0,
      maximum: bufferMsMax,
      default: bufferMsDefault,
      description: 'How long to wait for more text, in milliseconds, before the pending text is spoken.',
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

/** Parses fields with JSON names. Throws a Failure with all violations. */
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
