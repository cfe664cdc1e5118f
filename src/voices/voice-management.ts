// Management of stored voices: create, clone, change, disable, delete, and withdraw the consent of a person. Every change
// has an entry in the record. An engine's own voice that is changed becomes a stored voice with the same id.
import type { Engine } from '../engines/engine.ts';
import { Failure, type FieldViolation } from '../errors.ts';
import { type Actor, toRecordEntry } from '../keys/actor.ts';
import type { OfferedVoice, Voices } from '../speech/voice.ts';
import type { VoiceRow, VoiceRows } from '../store/voice-rows.ts';
import type { MakeClones } from './clone-making.ts';
import type { Vault } from './clone-vault.ts';
import { bindingsOf, type ConsentRecord } from './stored-voice.ts';
import { type BindableEngine, checkBindings, checkSpoken } from './voice-bindings.ts';
import type { VoiceCache } from './voice-cache.ts';
import { createVoiceChanges, invalidVoiceId, type RowDraft, toNewRow } from './voice-changes.ts';
import { type CloneFields, checkLanguages, checkVoiceFields, faultTo, type VoiceFields } from './voice-fields.ts';
import { createVoiceMaking } from './voice-making.ts';

export interface VoiceManagement {
  create(voiceId: string | undefined, fields: VoiceFields, actor: Actor): Promise<OfferedVoice>;
  clone(fields: CloneFields, actor: Actor, signal: AbortSignal): Promise<OfferedVoice>;
  update(voiceId: string, fields: VoiceFields, actor: Actor): Promise<OfferedVoice>;
  remove(voiceId: string, actor: Actor): Promise<void>;
  revokeConsent(voiceId: string, actor: Actor): Promise<OfferedVoice>;
}

export interface VoiceManagementOptions {
  rows: VoiceRows;
  voiceCache: Pick<VoiceCache, 'refresh'>;
  voices: Voices;
  engines: readonly Engine[];
  making: { makeClones: MakeClones; vault: Vault };
}

export function createVoiceManagement(options: VoiceManagementOptions): VoiceManagement {
  const { rows, voiceCache, voices, engines, making } = options;
  const changes = createVoiceChanges(rows, voiceCache, voices);
  const voiceMaking = createVoiceMaking({ changes, engines, ...making });

  return {
    create: async (voiceId, fields, actor) => voices.find(await voiceMaking.create(voiceId, fields, actor)),

    clone: async (fields, actor, signal) => voices.find(await voiceMaking.clone(fields, actor, signal)),

    async update(voiceId, fields, actor) {
      checkMaySee(voiceId, actor);
      const offered = voices.find(voiceId);
      await changes.apply(voiceId, (row) => {
        const isLive = row !== undefined && row.status !== 'deleted';
        if (!isLive && offered.kept) throw new Failure('voice_not_found');
        const atMs = Date.now();
        const before = isLive ? row : toStoredRow(offered, row, atMs);
        return {
          row: toChangedRow(before, fields, { engines, actor, atMs }),
          entry: toRecordEntry({ action: 'update', voiceId, atMs, detail: fields }, actor),
        };
      });
      return voices.find(voiceId);
    },

    async remove(voiceId, actor) {
      checkMaySee(voiceId, actor);
      const { kept } = voices.find(voiceId);
      if (!kept) throw notPossible('is an engine’s own, and cannot be deleted; it can be switched off');
      await changes.apply(voiceId, (row) => {
        const before = requireLive(row);
        const atMs = Date.now();
        const emptied = { name: '', description: '', labels: '{}', bindings: '[]', consent: null };
        return {
          row: { ...before, ...emptied, status: 'deleted', updatedAtMs: atMs, version: before.version + 1 },
          entry: toRecordEntry({ action: 'delete', voiceId, atMs, detail: { name: before.name } }, actor),
          destroysClones: true,
        };
      });
    },

    async revokeConsent(voiceId, actor) {
      checkMaySee(voiceId, actor);
      const { kept, status } = voices.find(voiceId);
      if (kept?.kind !== 'cloned') throw notPossible('is no clone, and nobody’s consent is needed for it');
      if (status === 'consent_revoked') {
        // Retries the purge of its audio if that has failed.
        await voiceCache.refresh();
        return voices.find(voiceId);
      }
      await changes.apply(voiceId, (row) => {
        const before = requireLive(row);
        const atMs = Date.now();
        const given = JSON.parse(before.consent!) as ConsentRecord;
        const consent: ConsentRecord = { ...given, revokedAtMs: given.revokedAtMs ?? atMs };
        return {
          row: { ...before, status: 'consent_revoked', consent: JSON.stringify(consent), updatedAtMs: atMs },
          entry: toRecordEntry({ action: 'revoke_consent', voiceId, atMs, detail: { consent } }, actor),
          destroysClones: true,
        };
      });
      return voices.find(voiceId);
    },
  };
}

/** For an actor that is limited to some voices, the others do not exist. */
function checkMaySee(voiceId: string, { voiceIds }: Actor): void {
  if (voiceIds && !voiceIds.includes(voiceId)) throw new Failure('voice_not_found');
}

function requireLive(row: VoiceRow | undefined): VoiceRow {
  if (!row || row.status === 'deleted') throw new Failure('voice_not_found');
  return row;
}

const notPossible = (message: string) => invalidVoiceId({ reason: 'state', message });

/** The row of an engine's own voice, to be stored because it is changed. */
function toStoredRow({ voice, bindings }: OfferedVoice, deleted: VoiceRow | undefined, atMs: number): RowDraft {
  const { voiceId, name, description, languageCodes, labels } = voice;
  const own = bindings.map(({ engine, speaker }) => ({ engine: engine.name, speakerId: speaker.voiceId }));
  return toNewRow(
    deleted,
    { voiceId, name, description, kind: 'stock', status: 'ready', languageCodes, labels, bindings: own, consent: null },
    atMs,
  );
}

/** The row with the fields changed, or a Failure with every fault of the fields. */
function toChangedRow(
  before: RowDraft,
  fields: VoiceFields,
  { engines, actor, atMs }: { engines: readonly Engine[]; actor: Actor; atMs: number },
): RowDraft {
  if (before.status === 'consent_revoked') {
    const message = 'The person whose voice this is has withdrawn consent; the voice can be deleted, not changed.';
    throw new Failure('voice_not_ready', { message });
  }
  const faults: FieldViolation[] = [];
  const fault = faultTo(faults);
  checkVoiceFields(fields, fault);
  const oldBindings = bindingsOf(before);
  const bindings =
    fields.bindings && checkBindings(fields.bindings, oldBindings, visibleEngines(engines, actor), faults);
  const languageCodes = fields.languageCodes && checkLanguages(fields.languageCodes, fault);
  if (languageCodes) checkSpoken(languageCodes, bindings ?? oldBindings, engines, faults);
  if (faults.length > 0) throw new Failure('invalid_request', { details: faults });
  const { name = before.name, description = before.description, labels, enabled } = fields;
  return {
    ...before,
    name,
    description,
    updatedAtMs: atMs,
    ...(languageCodes && { languageCodes: languageCodes.join(' ') }),
    ...(labels && { labels: JSON.stringify(labels) }),
    ...(bindings && { bindings: JSON.stringify(bindings), version: before.version + 1 }),
    ...(enabled !== undefined && { status: enabled ? 'ready' : 'disabled' }),
  };
}

/** The engines with only the voices that the actor may see. */
const visibleEngines = (engines: readonly Engine[], { voiceIds }: Actor): readonly BindableEngine[] =>
  voiceIds
    ? engines.map(({ name, voices }) => ({ name, voices: voices.filter(({ voiceId }) => voiceIds.includes(voiceId)) }))
    : engines;
