// Parses the start message of live speech: the fields from fields.ts, with telephone formats and sample rates, plus
// `bufferMs` and `disclosure`.
import { LiveStartSchema } from '../../gen/sonant/v1/speech_pb.ts';
import type { FormatName } from '../audio.ts';
import { Failure, type FieldViolation } from '../platform/errors.ts';
import { amount, choice, type FieldRow, liveSampleRate, type ReportViolation, speechFields, toggle } from './fields.ts';
import type { LiveFields } from './live-plan.ts';

export interface LiveStart extends LiveFields {
  /** How long to wait for more text before an incomplete sentence is spoken. */
  bufferMs: number;
  /** Whether the voice first says that it is synthetic. */
  disclosure: boolean;
}

/** Rows of the start message, by their names in `LiveStart`. */
export const liveFields: { readonly [Name in keyof LiveStart]: FieldRow<LiveStart[Name]> } = {
  voiceId: speechFields.voiceId,
  sampleRateHz: { ...speechFields.sampleRateHz, ...liveSampleRate },
  languageCode: speechFields.languageCode,
  format: { ...speechFields.format, ...choice<FormatName>('output_format', LiveStartSchema) },
  speakingRate: speechFields.speakingRate,
  timestamps: speechFields.timestamps,
  markup: speechFields.markup,
  normalize: speechFields.normalize,
  lexiconIds: speechFields.lexiconIds,
  instructions: speechFields.instructions,
  seed: speechFields.seed,
  bufferMs: { ...amount('buffer_ms', LiveStartSchema), changesSound: false },
  disclosure: { ...toggle('disclosure', false, LiveStartSchema), changesSound: false },
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
