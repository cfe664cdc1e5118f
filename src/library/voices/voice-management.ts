// Lets owners and admins create, clone, change, disable and delete stored voices, and withdraw a person's consent.
// Every change has an audit entry. An engine voice that is changed becomes a stored voice with the same id, unless only
// its aliases change.
import { type Actor, toRecordEntry } from '../../accounts.ts';
import type { Engine } from '../../engines.ts';
import { Failure, type FieldViolation } from '../../platform/errors.ts';
import { type Lexicons, lookUpLexicons, type OfferedVoice, type StoredVoice, type Voices } from '../../speech.ts';
import type { CloneMaking, PreparedClone } from './clone-making.ts';
import type { Vault } from './clone-vault.ts';
import { checkSpeakers, checkSpoken, enginesFor, type SpeakerChecks } from './voice-bindings.ts';
import type { VoiceCache } from './voice-cache.ts';
import { createVoiceChanges, invalidVoiceId, type NewVoice, type RowDraft, toNewRow } from './voice-changes.ts';
import {
  type CloneFields,
  checkLanguages,
  faultTo,
  type LexiconChecks,
  toAliasChange,
  type VoiceFields,
} from './voice-fields.ts';
import { type BindingRecord, bindingsOf, type ConsentRecord } from './voice-from-row.ts';
import { type CheckedVoice, checkMayChange, checkMayShare, createVoiceMaking, requireOwn } from './voice-making.ts';
import type { PreviewVoice } from './voice-preview.ts';
import { noTexts, textsOf, type VoiceChange, type VoiceRow, type VoiceRows } from './voice-rows.ts';

export interface VoiceManagement {
  /** Speaks a sentence in the first language of a voice that the caller may use. */
  preview: PreviewVoice;
  /** The `check` methods add to `faults`, and throw if the actor lacks permission. */
  checkNew(voiceId: string | undefined, fields: VoiceFields, actor: Actor, faults: FieldViolation[]): CheckedVoice;
  create(voiceId: string | undefined, fields: VoiceFields, checked: CheckedVoice, actor: Actor): Promise<OfferedVoice>;
  checkClone(fields: CloneFields, actor: Actor, faults: FieldViolation[], signal: AbortSignal): Promise<PreparedClone>;
  clone(fields: CloneFields, prepared: PreparedClone, actor: Actor, signal: AbortSignal): Promise<OfferedVoice>;
  checkUpdate(voiceId: string, fields: VoiceFields, actor: Actor, faults: FieldViolation[]): void;
  /** Changes the voice. Checks the fields again, because the voice may have changed since `checkUpdate`. */
  update(voiceId: string, fields: VoiceFields, actor: Actor): Promise<OfferedVoice>;
  remove(voiceId: string, actor: Actor): Promise<void>;
  revokeConsent(voiceId: string, actor: Actor): Promise<OfferedVoice>;
  /** Makes the voice the default for everyone, or clears the default. The caller must check the actor's permission. */
  chooseDefault(voiceId: string | undefined, actor: Actor): Promise<void>;
}

interface VoiceManagementOptions {
  rows: VoiceRows;
  voiceCache: Pick<VoiceCache, 'refresh' | 'stored'>;
  voices: Voices;
  lexicons: Lexicons;
  engines: readonly Engine[];
  making: { cloneMaking: CloneMaking; vault: Vault; voicesPerAccount: number };
  preview: PreviewVoice;
}

export function createVoiceManagement(options: VoiceManagementOptions): VoiceManagement {
  const { rows, voiceCache, voices, lexicons, engines, making, preview } = options;
  const changes = createVoiceChanges(rows, voiceCache, voices);
  const voiceMaking = createVoiceMaking({ changes, voices, lexicons, engines, ...making });

  /** Returns the voice if the actor may change it. */
  const findToChange = (voiceId: string, actor: Actor): OfferedVoice => {
    const offered = voices.usableBy(actor).find(voiceId);
    checkMayChange(offered.kept, actor);
    return offered;
  };

  return {
    preview,
    checkNew: voiceMaking.check,
    create: async (...request) => voices.find(await voiceMaking.create(...request)),
    checkClone: voiceMaking.checkClone,
    clone: async (...request) => voices.find(await voiceMaking.clone(...request)),

    checkUpdate(idOrAlias, fields, actor, faults) {
      const offered = findToChange(idOrAlias, actor);
      const checks = { bindable: enginesFor(engines, voices, actor), voices, lexicons, actor };
      checkChange(toSpeaking(offered), fields, { engines, checks }, faults);
    },

    async update(idOrAlias, fields, actor) {
      const offered = findToChange(idOrAlias, actor);
      const { voiceId } = offered.voice;
      const { aliases: names, ...others } = fields;
      const checks = { bindable: enginesFor(engines, voices, actor), voices, lexicons, actor };
      await changes.apply(voiceId, (found) => {
        if (!isLive(found) && offered.kept) throw new Failure('voice_not_found');
        const atMs = Date.now();
        const before = isLive(found) ? requireOwn(found, actor) : toStoredRow(offered, found, { atMs, actor });
        const row = toChangedRow(before, fields, { engines, checks, atMs });
        const isMoved = row.access !== before.access;
        if (isMoved || names) checkMayShare(row, actor);
        // An engine voice is not stored if only its aliases change.
        const isChanged = isLive(found) || Object.keys(others).length > 0;
        return {
          ...(isChanged && { row }),
          aliases: toAliasChange(row, names ?? (isMoved ? offered.aliases : undefined), { voices, actor }),
          entry: toRecordEntry({ action: 'update', voiceId, atMs, detail: fields }, actor),
        };
      });
      return voices.find(voiceId);
    },

    async remove(idOrAlias, actor) {
      const { kept, voice, aliases } = findToChange(idOrAlias, actor);
      const { voiceId } = voice;
      if (!kept && aliases.length === 0)
        throw notPossible('is a voice of an engine, which can be disabled but not deleted');
      const forgetClones = await openToForget(kept, engines);
      await changes.apply(voiceId, (row) =>
        kept || isLive(row) ? toDeletion(requireOwn(row, actor), actor) : toAliasRemoval(voiceId, voices, actor),
      );
      await forgetClones();
    },

    async revokeConsent(idOrAlias, actor) {
      const { kept, status, voice } = findToChange(idOrAlias, actor);
      const { voiceId } = voice;
      if (kept?.kind !== 'cloned') throw notPossible('is not a cloned voice, so it has no consent to withdraw');
      if (status === 'consent_revoked') {
        // Retries the purge of the voice's audio if it has failed.
        await voiceCache.refresh();
        return voices.find(voiceId);
      }
      const forgetClones = await openToForget(kept, engines);
      await changes.apply(voiceId, (row) => toRevocation(requireOwn(row, actor), actor));
      await forgetClones();
      return voices.find(voiceId);
    },

    async chooseDefault(idOrAlias, actor) {
      if (actor.voiceIds)
        throw new Failure('access_denied', {
          message: 'A key that is limited to certain voices cannot choose the default voice.',
        });
      const offered = idOrAlias === undefined ? undefined : voices.usableBy(actor).find(idOrAlias);
      if (offered?.kept?.access === 'private')
        throw notPossible('is private; the default voice must be available to everyone');
      const voiceId = offered?.voice.voiceId ?? '';
      const entry = toRecordEntry({ action: 'set_default', voiceId, atMs: Date.now(), detail: {} }, actor);
      await rows.changeDefault(voiceId, entry);
      await voiceCache.refresh();
    },
  };
}

/** Opens a voice's clones before they are deleted. Returns a function that makes each engine delete its remote copy. */
async function openToForget(kept: StoredVoice | undefined, engines: readonly Engine[]): Promise<() => Promise<void>> {
  const works = (kept?.bindings ?? []).map(async (bound) => {
    const cloning = engines.find(({ name }) => name === bound.engine)?.cloning;
    if (!('openClone' in bound) || !cloning?.forget) return undefined;
    // A clone that was sealed with another master key cannot be opened. It is deleted without its remote copy.
    const clone = await bound.openClone().catch(() => undefined);
    return clone && (() => cloning.forget?.(clone));
  });
  const opened = await Promise.all(works);
  return async () => void (await Promise.all(opened.map((forget) => forget?.())));
}

const isLive = (row: VoiceRow | undefined): boolean => row !== undefined && row.status !== 'deleted';

function toRevocation(before: VoiceRow, actor: Actor): VoiceChange {
  const { voiceId } = before;
  const atMs = Date.now();
  const given = JSON.parse(before.consent!) as ConsentRecord;
  const consent: ConsentRecord = { ...given, revokedAtMs: given.revokedAtMs ?? atMs };
  return {
    row: { ...before, status: 'consent_revoked', consent: JSON.stringify(consent), updatedAtMs: atMs },
    entry: toRecordEntry({ action: 'revoke_consent', voiceId, atMs, detail: { consent } }, actor),
    destroysClones: true,
  };
}

function toDeletion(before: VoiceRow, actor: Actor): VoiceChange {
  const { voiceId, name } = before;
  const atMs = Date.now();
  return {
    row: { ...before, ...emptied, status: 'deleted', updatedAtMs: atMs, version: before.version + 1 },
    entry: toRecordEntry({ action: 'delete', voiceId, atMs, detail: { name } }, actor),
    destroysClones: true,
  };
}

/** Removes the aliases of an engine voice that has no other stored changes. */
function toAliasRemoval(voiceId: string, voices: Voices, actor: Actor): VoiceChange {
  const fields: VoiceFields = { aliases: [] };
  return {
    aliases: toAliasChange({ voiceId, access: 'everyone', ownerId: null }, fields.aliases, { voices, actor }),
    entry: toRecordEntry({ action: 'update', voiceId, atMs: Date.now(), detail: fields }, actor),
  };
}

/** Columns that a deletion clears. The owner stays in the row, so that no other account gets the id. */
const emptied = {
  ...noTexts,
  labels: '{}',
  bindings: '[]',
  consent: null,
  lexiconIds: null,
};

const notPossible = (message: string) => invalidVoiceId({ reason: 'state', message });

/** Returns the row for an engine voice, which must be stored before it is changed. */
function toStoredRow(
  { voice, bindings }: OfferedVoice,
  deleted: VoiceRow | undefined,
  by: { atMs: number; actor: Actor },
): RowDraft {
  const { voiceId, languageCodes, labels } = voice;
  const stored: NewVoice = {
    ...textsOf(voice),
    voiceId,
    kind: 'stock',
    status: 'ready',
    languageCodes,
    labels,
    bindings: bindings.map(({ engine, speaker }) => ({ engine: engine.name, speakerId: speaker.voiceId })),
    consent: null,
    ownerId: null,
    access: 'everyone',
  };
  return toNewRow(deleted, stored, by);
}

/** The state of a voice before a change, with only the parts that the checks need. */
interface Speaking {
  voiceId: string;
  status: StoredVoice['status'] | 'deleted';
  bindings: readonly BindingRecord[];
  languageCodes: readonly string[];
}

interface ChangeChecks {
  engines: readonly Engine[];
  checks: SpeakerChecks & LexiconChecks;
}

function toSpeaking({ voice, kept, bindings }: OfferedVoice): Speaking {
  const { voiceId, languageCodes } = voice;
  const engineBindings = bindings.map(({ engine, speaker }) => ({ engine: engine.name, speakerId: speaker.voiceId }));
  return {
    voiceId,
    languageCodes,
    status: kept?.status ?? 'ready',
    bindings: kept?.bindings.map(toRecord) ?? engineBindings,
  };
}

/** Converts a binding for `checkChange`, which does not need the id of a clone. */
function toRecord(bound: StoredVoice['bindings'][number]): BindingRecord {
  if ('openClone' in bound)
    return { engine: bound.engine, cloneId: '', gainDb: bound.gainDb, languageCodes: bound.languageCodes };
  return 'blend' in bound ? { engine: bound.engine, speakerId: '', blend: bound.blend } : bound;
}

/** Reports faults in the change. Returns the new bindings and languages, if the change has any. */
function checkChange(
  before: Speaking,
  fields: VoiceFields,
  { engines, checks }: ChangeChecks,
  faults: FieldViolation[],
) {
  if (before.status === 'consent_revoked') {
    const message =
      'The person whose voice this is has withdrawn their consent. The voice can be deleted, but not changed.';
    throw new Failure('voice_not_ready', { message });
  }
  const bindings = checkSpeakers(fields, before, checks, faults);
  const languageCodes = fields.languageCodes && checkLanguages(fields.languageCodes, faultTo(faults));
  const codesToCheck = languageCodes ?? (bindings && before.languageCodes);
  if (codesToCheck) checkSpoken(codesToCheck, bindings ?? before.bindings, engines, faults);
  if (fields.lexiconIds) lookUpLexicons(checks.lexicons, fields.lexiconIds, checks.actor, faults);
  return { bindings, languageCodes };
}

/** Returns the changed row. Throws a Failure that lists all faults in the fields. */
function toChangedRow(
  before: RowDraft,
  fields: VoiceFields,
  { atMs, ...checks }: ChangeChecks & { atMs: number },
): RowDraft {
  const faults: FieldViolation[] = [];
  const speaking = { ...before, bindings: bindingsOf(before), languageCodes: before.languageCodes.split(' ') };
  const { bindings, languageCodes } = checkChange(speaking, fields, checks, faults);
  const { access } = fields;
  if (faults.length > 0) throw new Failure('invalid_request', { details: faults });
  const { labels, enabled } = fields;
  return {
    ...before,
    ...textsOf(fields, before),
    updatedAtMs: atMs,
    ...(languageCodes && { languageCodes: languageCodes.join(' ') }),
    ...(labels && { labels: JSON.stringify(labels) }),
    ...(bindings && { bindings: JSON.stringify(bindings), version: before.version + 1 }),
    ...(enabled !== undefined && { status: enabled ? 'ready' : 'disabled' }),
    ...(access && { access }),
    ...(fields.lexiconIds && { lexiconIds: fields.lexiconIds.join(' ') || null }),
  };
}
