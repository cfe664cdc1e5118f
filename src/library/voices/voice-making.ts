// Creates stored voices, which are bound to engine voices or cloned from recordings of a person. The consent of the
// person is stored with the voice, and the data of a clone is stored encrypted.
import { type Actor, operator, toRecordEntry } from '../../accounts.ts';
import type { Engine } from '../../engines.ts';
import { Failure, type FieldViolation } from '../../platform/errors.ts';
import { createId } from '../../platform/runtime/id.ts';
import { SlotQueue } from '../../platform/runtime/slot-queue.ts';
import { type Lexicons, lookUpLexicons, ownerOf, type StoredVoice, type Voices } from '../../speech.ts';
import { type CloneMaking, forgetClones, type MadeClone, type MadeClones, type PreparedClone } from './clone-making.ts';
import type { Vault } from './clone-vault.ts';
import { checkSpeakers, checkSpoken, enginesFor, languagesOf, type SpeakerChecks } from './voice-bindings.ts';
import { type NewVoice, takenFault, toNewRow, type VoiceChanges } from './voice-changes.ts';
import {
  type CloneFields,
  checkLanguages,
  faultTo,
  type LexiconChecks,
  toAliasChange,
  type VoiceFields,
} from './voice-fields.ts';
import type { BindingRecord, ConsentRecord } from './voice-from-row.ts';
import { type SealedClone, textsOf, type VoiceRow } from './voice-rows.ts';

interface VoiceMakingOptions {
  changes: VoiceChanges;
  voices: Voices;
  lexicons: Lexicons;
  engines: readonly Engine[];
  cloneMaking: CloneMaking;
  vault: Vault;
  /** Maximum number of voices of an account. Does not apply to keys with the `admin` scope. */
  voicesPerAccount: number;
}

/** Number of clones that are created at once, and number of further clones that may wait. */
const cloningMax = 4;

export function createVoiceMaking(options: VoiceMakingOptions) {
  const { changes, voices, lexicons, engines, cloneMaking, vault, voicesPerAccount } = options;
  const slots = new SlotQueue({
    slotsMax: cloningMax,
    waitingMax: cloningMax,
    isShared: true,
    refusal: () => new Failure('overloaded', { retryAfterSeconds: 1 }),
  });

  const createCountCheck = (actor: Actor) => (actual: number) => {
    if (actor.usesAllVoices || actual < voicesPerAccount) return;
    const message = `This account already has ${voicesPerAccount} voices, which is the limit. Delete some first.`;
    throw new Failure('invalid_request', { message, limit: voicesPerAccount, actual });
  };

  return {
    /** Reports faults in the fields of a new voice. */
    check(requestedId: string | undefined, fields: VoiceFields, actor: Actor, faults: FieldViolation[]): CheckedVoice {
      checkMayMake(actor);
      const bindable = enginesFor(engines, voices, actor);
      return checkNewVoice(requestedId, fields, { bindable, changes, voices, lexicons, actor }, faults);
    },

    /** Creates a voice with bindings and returns its id. */
    async create(
      requestedId: string | undefined,
      fields: VoiceFields,
      { bindings, languageCodes }: CheckedVoice,
      actor: Actor,
    ): Promise<string> {
      const voiceId = changes.chooseId(requestedId, actor);
      const atMs = Date.now();
      const ownerId = actor.accountId === operator.accountId ? null : actor.accountId;
      const isUsuallyShared = ownerId === null || (actor.usesAllVoices && !fields.blend);
      const usual = isUsuallyShared ? 'everyone' : 'private';
      const who = { voiceId, ownerId, access: fields.access ?? usual };
      const voice = toNewVoice(fields, { ...who, languageCodes, bindings });
      checkMayShare(voice, actor);
      await changes.apply(voiceId, (row) => ({
        row: toNewRow(row, voice, { atMs, actor }),
        checkOwned: createCountCheck(actor),
        aliases: toAliasChange(voice, fields.aliases, { voices, actor }),
        entry: toRecordEntry({ action: 'create', voiceId, atMs, detail: fields }, actor),
      }));
      return voiceId;
    },

    /** Reports faults in the fields of a clone and in its recordings. */
    async checkClone(
      fields: CloneFields,
      actor: Actor,
      faults: FieldViolation[],
      signal: AbortSignal,
    ): Promise<PreparedClone> {
      checkMayMake(actor);
      const { voiceId, access = 'private' } = fields;
      checkMayShare({ access }, actor);
      if (voiceId !== '' && changes.isTaken(voiceId, actor)) faults.push(takenFault);
      const release = await slots.take({ owner: actor.accountId, signal });
      return cloneMaking.prepare(fields, faults, signal).finally(release);
    },

    /** Creates a cloned voice and returns its id. */
    async clone(fields: CloneFields, prepared: PreparedClone, actor: Actor, signal: AbortSignal): Promise<string> {
      const release = await slots.take({ owner: actor.accountId, signal });
      const made = await cloneMaking.make(fields, prepared, actor.accountId, signal).finally(release);
      try {
        return await keepClones(fields, made, actor, signal);
      } catch (error) {
        await forgetClones(made.clones, engines);
        throw error;
      }
    },
  };

  async function keepClones(fields: CloneFields, made: MadeClones, actor: Actor, signal: AbortSignal): Promise<string> {
    const { voiceId: requestedId, access = 'private' } = fields;
    const voiceId = changes.chooseId(requestedId || undefined, actor);
    const atMs = Date.now();
    const consent = toConsentRecord(fields, made, actor, atMs);
    const sealed = await Promise.all(made.clones.map((clone) => sealClone(clone, vault)));
    signal.throwIfAborted();
    const voice: NewVoice = {
      ...textsOf(fields),
      voiceId,
      kind: 'cloned',
      status: 'ready',
      languageCodes: [...new Set(made.clones.flatMap(({ languageCodes }) => languageCodes))],
      labels: fields.labels,
      bindings: sealed.map(({ binding }) => binding),
      consent,
      ownerId: actor.accountId ?? null,
      access,
    };
    const engineNames = made.clones.map(({ engine }) => engine);
    const evidence = { consent, referenceSha256: made.referenceSha256, engines: engineNames };
    await changes.apply(voiceId, (row) => ({
      row: toNewRow(row, voice, { atMs, actor }),
      checkOwned: createCountCheck(actor),
      entry: toRecordEntry({ action: 'clone', voiceId, atMs, detail: evidence }, actor),
      clones: sealed.map(({ clone }) => clone),
    }));
    return voiceId;
  }
}

function checkMayMake({ voiceIds }: Actor): void {
  if (!voiceIds) return;
  throw new Failure('access_denied', { message: 'This key is limited to certain voices and cannot create voices.' });
}

function toNewVoice(
  { labels = {}, enabled = true, lexiconIds, ...fields }: VoiceFields,
  checked: Pick<NewVoice, 'voiceId' | 'ownerId' | 'access' | 'languageCodes' | 'bindings'>,
): NewVoice {
  const status = enabled ? 'ready' : 'disabled';
  return { ...checked, ...textsOf(fields), labels, lexiconIds, kind: 'stock', status, consent: null };
}

/** The bindings and languages of a new voice. */
export interface CheckedVoice {
  bindings: readonly BindingRecord[];
  languageCodes: readonly string[];
}

interface NewVoiceChecks extends SpeakerChecks, LexiconChecks {
  changes: VoiceChanges;
  actor: Actor;
}

function checkNewVoice(
  requestedId: string | undefined,
  fields: VoiceFields,
  { changes, ...checks }: NewVoiceChecks,
  faults: FieldViolation[],
): CheckedVoice {
  const { bindable } = checks;
  const fault = faultTo(faults);
  if (!fields.bindings && !fields.blend)
    fault('bindings', 'required', 'are required: {"engine", "voice_id"}, or send a blend of voices');
  const bindings = checkSpeakers(fields, { voiceId: requestedId, bindings: [] }, checks, faults) ?? [];
  const languageCodes = checkLanguages(fields.languageCodes ?? languagesOf(bindings, bindable), fault);
  checkSpoken(languageCodes, bindings, bindable, faults);
  if (fields.lexiconIds) lookUpLexicons(checks.lexicons, fields.lexiconIds, checks.actor, faults);
  if (requestedId !== undefined && changes.isTaken(requestedId, checks.actor)) faults.push(takenFault);
  return { bindings, languageCodes };
}

const toConsentRecord = (
  { speakerName }: CloneFields,
  { consentScript, languageCode, consentSha256 }: MadeClones,
  actor: Actor,
  atMs: number,
): ConsentRecord => ({
  speakerName,
  statement: consentScript,
  languageCode,
  audioSha256: consentSha256,
  givenAtMs: atMs,
  confirmedBy: actor.name,
});

async function sealClone(
  { engine, gainDb, languageCodes, plain }: MadeClone,
  vault: Vault,
): Promise<{ binding: BindingRecord; clone: SealedClone }> {
  const cloneId = createId('cln');
  return {
    binding: { engine, cloneId, gainDb, languageCodes },
    clone: { cloneId, sealed: await vault.seal(plain, cloneId) },
  };
}

/** Throws if the actor may not change the voice. `kept` is undefined for an engine voice without stored changes. */
export function checkMayChange(kept: Pick<StoredVoice, 'ownerId'> | undefined, actor: Actor): void {
  if (actor.usesAllVoices || ownerOf(kept, actor) === 'self') return;
  const message = 'Only the owner of the voice and keys with the scope admin may change it.';
  throw new Failure('access_denied', { message });
}

/** Throws if the voice is shared with everyone and the actor is not an admin. */
export function checkMayShare({ access }: Pick<VoiceRow, 'access'>, { usesAllVoices }: Actor): void {
  if (access === 'private' || usesAllVoices) return;
  const message = 'Only keys with the scope admin may share voices, and their aliases, with everyone. Use private.';
  throw new Failure('insufficient_scope', { message, requiredScopes: ['admin'] });
}

/**
 * Returns the row if the actor may still change it. The voice may have been deleted, and created again by another
 * account.
 */
export function requireOwn(row: VoiceRow | undefined, actor: Actor): VoiceRow {
  if (!row || row.status === 'deleted') throw new Failure('voice_not_found');
  const ownerId = row.ownerId ?? undefined;
  const isHidden = row.access === 'private' && ownerOf({ ownerId }, actor) !== 'self' && !actor.usesAllVoices;
  if (isHidden) throw new Failure('voice_not_found');
  checkMayChange({ ownerId }, actor);
  return row;
}
