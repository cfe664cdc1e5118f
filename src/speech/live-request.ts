// What live speech starts with, checked: the fields of a request as fields.ts has them, with the formats and sample rates
// of telephones besides, and how long a text that does not go on is waited for.
import { LiveStartSchema } from '../../gen/sonant/v1/speech_pb.ts';
import type { FormatName } from '../audio/formats.ts';
import { Failure, type FieldViolation } from '../errors.ts';
import { amount, choice, type FieldRow, liveSampleRate, type ReportViolation, speechFields } from './fields.ts';
import type { LiveFields } from './live-plan.ts';

export interface LiveStart extends LiveFields {
  /** How long a text that does not go on is waited for, before what there is of it is spoken. */
  bufferMs: number;
}

/** The rows of the start message, by the names of `LiveStart`. */
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
