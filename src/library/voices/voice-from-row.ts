// Converts a stored voice from its row to the form that speech uses.
import type { Blend } from '../../engines.ts';
import { Failure } from '../../platform/errors.ts';
import type { StoredVoice } from '../../speech.ts';
import { textsOf, type VoiceRow } from './voice-rows.ts';

/** An element of the column `bindings`. A blend has an empty `speakerId`, for which older releases find no voice. */
export type BindingRecord =
  | { engine: string; speakerId: string; blend?: undefined }
  | { engine: string; speakerId: ''; blend: Blend }
  | { engine: string; cloneId: string; gainDb: number; languageCodes: readonly string[] };

export interface ConsentRecord {
  speakerName: string;
  statement: string;
  languageCode: string;
  audioSha256: string;
  givenAtMs: number;
  confirmedBy: string;
  revokedAtMs?: number;
}

export const bindingsOf = ({ bindings }: Pick<VoiceRow, 'bindings'>): BindingRecord[] => JSON.parse(bindings);

export function toStoredVoice(
  row: VoiceRow,
  ended: AbortSignal,
  openClone: (cloneId: string) => Promise<Uint8Array>,
): StoredVoice {
  const { status } = row;
  if (status === 'deleted') throw new TypeError('a deleted voice is not offered');
  const toBinding = (bound: BindingRecord): StoredVoice['bindings'][number] => {
    if ('speakerId' in bound) return bound.blend ? { engine: bound.engine, blend: bound.blend } : bound;
    const { engine, cloneId, gainDb, languageCodes } = bound;
    return { engine, gainDb, languageCodes, openClone: () => openClone(cloneId) };
  };
  return {
    ...textsOf(row),
    voiceId: row.voiceId,
    kind: row.kind,
    status,
    languageCodes: row.languageCodes.split(' '),
    labels: JSON.parse(row.labels),
    version: String(row.version),
    bindings: bindingsOf(row).map(toBinding),
    consent: row.consent === null ? undefined : toConsent(JSON.parse(row.consent)),
    ownerId: row.ownerId ?? undefined,
    // Unknown values, which a newer version may have written, count as private.
    access: row.access === 'everyone' ? 'everyone' : 'private',
    lexiconIds: row.lexiconIds ? row.lexiconIds.split(' ') : [],
    createdAt: new Date(row.createdAtMs),
    updatedAt: new Date(row.updatedAtMs),
    ended,
  };
}

const toConsent = ({ givenAtMs, revokedAtMs, ...given }: ConsentRecord): StoredVoice['consent'] => ({
  ...given,
  givenAt: new Date(givenAtMs),
  revokedAt: revokedAtMs === undefined ? undefined : new Date(revokedAtMs),
});

/** The Failure that ends running requests if the voice is permanently gone; undefined for other voices. */
export function endOf({ status, kind }: VoiceRow): Failure | undefined {
  if (status === 'consent_revoked') {
    return new Failure('voice_not_ready', { message: 'The person whose voice this is has withdrawn their consent.' });
  }
  return status === 'deleted' && kind === 'cloned' ? deletedVoice() : undefined;
}

export const deletedVoice = () => new Failure('voice_not_ready', { message: 'The voice has been deleted.' });
