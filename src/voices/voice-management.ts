// Where voices are made, changed, switched off and deleted, people cloned, and their consent withdrawn: every change is
// one transaction with its entry in the record, and holds here before its caller is answered.
import type { Engine } from '../engines/engine.ts';
import { Failure, type FieldViolation } from '../errors.ts';
import { createId } from '../id.ts';
import type { Actor } from '../keys/actor.ts';
import { createSlots } from '../speech/slots.ts';
import type { OfferedVoice, Voices } from '../speech/voice.ts';
import type { VoiceChange, VoiceRow, VoiceRows } from '../store/voice-rows.ts';
import type { MakeClones } from './clone-making.ts';
import type { Vault } from './clone-vault.ts';
import { bindingsOf, type ConsentRecord } from './stored-voice.ts';
import { type BindableEngine, checkBindings, checkSpoken, languagesOf } from './voice-bindings.ts';
import type { VoiceCache } from './voice-cache.ts';
import {
  type CloneFields,
  checkLanguages,
  checkVoiceFields,
  checkVoiceId,
  faultTo,
  type VoiceFields,
} from './voice-fields.ts';
import { toRecordEntry } from './voice-record.ts';

export interface VoiceManagement {
  create(voiceId: string | undefined, asked: VoiceFields, actor: Actor): Promise<OfferedVoice>;
  clone(asked: CloneFields, actor: Actor, signal: AbortSignal): Promise<OfferedVoice>;
  update(voiceId: string, asked: VoiceFields, actor: Actor): Promise<OfferedVoice>;
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

/** People who are cloned at once; as many again wait. */
const makingMax = 4;
/** They are all held in memory. */
const voicesKeptMax = 10_000;

type RowDraft = Omit<VoiceRow, 'revision'>;

export function createVoiceManagement({
  rows,
  voiceCache,
  voices,
  engines,
  making,
}: VoiceManagementOptions): VoiceManagement {
  const places = createSlots({ speakingMax: makingMax, waitingMax: makingMax });
  const makeInTurn = async (
    asked: CloneFields,
    actor: string,
    faults: readonly FieldViolation[],
    signal: AbortSignal,
  ) => {
    const leave = await places.take(actor, signal);
    return making.makeClones(asked, { callerId: actor, faults, signal }).finally(leave);
  };
  const change = async (voiceId: string, decide: (row: VoiceRow | undefined) => VoiceChange) => {
    await rows.change(voiceId, decide);
    await voiceCache.refresh();
  };
  const isTaken = (voiceId: string) => voices.list().some(({ voice }) => voice.voiceId === voiceId);
  const freeId = (asked: string | undefined): string => {
    if (voices.list().filter(({ kept }) => kept).length >= voicesKeptMax) {
      throw new Failure('invalid_request', { message: `There are ${voicesKeptMax} voices; delete some before.` });
    }
    if (asked === undefined) return createId('voc');
    if (isTaken(asked)) throw taken();
    return asked;
  };
  /** The row, which is new unless the voice was deleted before; then it goes on counting. */
  const toNew = (row: VoiceRow | undefined, draft: Omit<RowDraft, 'version'>): RowDraft => {
    if (row && row.status !== 'deleted') throw taken();
    return { ...draft, version: (row?.version ?? 0) + 1 };
  };
  /** For who is limited to some voices, engines have no others either. */
  const enginesFor = ({ voiceIds }: Actor): readonly BindableEngine[] =>
    voiceIds
      ? engines.map(({ name, voices: own }) => ({
          name,
          voices: own.filter(({ voiceId }) => voiceIds.includes(voiceId)),
        }))
      : engines;

  return {
    async create(askedId, asked, actor) {
      checkMayMake(actor);
      const faults: FieldViolation[] = [];
      const fault = faultTo(faults);
      if (askedId !== undefined) checkVoiceId(askedId, fault);
      if (!asked.name) fault('name', 'required', 'name the voice');
      if (!asked.bindings?.length) fault('bindings', 'required', 'tell who speaks it: {"engine", "voice_id"}');
      checkVoiceFields({ ...asked, name: asked.name || undefined }, fault);
      const bindings = asked.bindings?.length ? checkBindings(asked.bindings, [], engines, faults) : [];
      const languageCodes = checkLanguages(asked.languageCodes ?? languagesOf(bindings, engines), fault);
      checkSpoken(languageCodes, bindings, engines, faults);
      if (askedId !== undefined && isTaken(askedId)) faults.push(takenFault);
      if (faults.length > 0) throw new Failure('invalid_request', { details: faults });
      const voiceId = freeId(askedId);
      const atMs = Date.now();
      const { name = '', description = '', labels = {}, enabled = true } = asked;
      await change(voiceId, (row) => {
        const draft = toNew(row, {
          ...{ voiceId, name, description, kind: 'stock', status: enabled ? 'ready' : 'disabled', consent: null },
          ...{ languageCodes: languageCodes.join(' '), labels: JSON.stringify(labels) },
          ...{ bindings: JSON.stringify(bindings), createdAtMs: atMs, updatedAtMs: atMs },
        });
        return { row: draft, entry: toRecordEntry({ action: 'create', voiceId, atMs, detail: asked }, actor) };
      });
      return voices.find(voiceId);
    },

    async clone(asked, actor, signal) {
      checkMayMake(actor);
      const known = asked.voiceId !== undefined && isTaken(asked.voiceId) ? [takenFault] : [];
      const made = await makeInTurn(asked, actor.name, known, signal);
      const voiceId = freeId(asked.voiceId);
      const atMs = Date.now();
      const { name, description, labels, speakerName } = asked;
      const consent: ConsentRecord = {
        ...{ speakerName, statement: made.consentScript, languageCode: made.languageCode },
        ...{ audioSha256: made.consentSha256, givenAtMs: atMs, confirmedBy: actor.name },
      };
      const locked = await Promise.all(
        made.clones.map(async ({ engine, gainDb, languageCodes, plain }) => {
          const cloneId = createId('cln');
          return {
            bound: { engine, cloneId, gainDb, languageCodes },
            clone: { cloneId, sealed: await making.vault.seal(plain, cloneId) },
          };
        }),
      );
      signal.throwIfAborted();
      const bindings = locked.map(({ bound }) => bound);
      const evidence = {
        consent,
        referenceSha256: made.referenceSha256,
        engines: bindings.map(({ engine }) => engine),
      };
      await change(voiceId, (row) => {
        const draft = toNew(row, {
          ...{ voiceId, name, description, kind: 'cloned', status: 'ready', consent: JSON.stringify(consent) },
          ...{
            languageCodes: [...new Set(made.clones.flatMap(({ languageCodes }) => languageCodes))].join(' '),
            labels: JSON.stringify(labels),
          },
          ...{ bindings: JSON.stringify(bindings), createdAtMs: atMs, updatedAtMs: atMs },
        });
        const entry = toRecordEntry({ action: 'clone', voiceId, atMs, detail: evidence }, actor);
        return { row: draft, entry, clones: locked.map(({ clone }) => clone) };
      });
      return voices.find(voiceId);
    },

    async update(voiceId, asked, actor) {
      checkMaySee(voiceId, actor);
      const offered = voices.find(voiceId);
      await change(voiceId, (row) => {
        const isLive = row !== undefined && row.status !== 'deleted';
        if (!isLive && offered.kept) throw new Failure('voice_not_found');
        const before = isLive ? row : toOwnRow(offered, row);
        if (before.status === 'consent_revoked') throw new Failure('voice_not_ready', { message: unchangeable });
        const faults: FieldViolation[] = [];
        const fault = faultTo(faults);
        checkVoiceFields(asked, fault);
        const bindings = asked.bindings && checkBindings(asked.bindings, bindingsOf(before), enginesFor(actor), faults);
        const languageCodes = asked.languageCodes && checkLanguages(asked.languageCodes, fault);
        if (languageCodes) checkSpoken(languageCodes, bindings ?? bindingsOf(before), engines, faults);
        if (faults.length > 0) throw new Failure('invalid_request', { details: faults });
        const atMs = Date.now();
        const { name = before.name, description = before.description, labels, enabled } = asked;
        const changed: RowDraft = {
          ...before,
          ...{ name, description, updatedAtMs: atMs },
          ...(languageCodes && { languageCodes: languageCodes.join(' ') }),
          ...(labels && { labels: JSON.stringify(labels) }),
          ...(bindings && { bindings: JSON.stringify(bindings), version: before.version + 1 }),
          ...(enabled !== undefined && { status: enabled ? 'ready' : 'disabled' }),
        };
        return { row: changed, entry: toRecordEntry({ action: 'update', voiceId, atMs, detail: asked }, actor) };
      });
      return voices.find(voiceId);
    },

    async remove(voiceId, actor) {
      checkMaySee(voiceId, actor);
      const { kept } = voices.find(voiceId);
      if (!kept) throw notHere('is an engine’s own, and cannot be deleted; it can be switched off');
      await change(voiceId, (row) => {
        if (!row || row.status === 'deleted') throw new Failure('voice_not_found');
        const atMs = Date.now();
        const emptied = { name: '', description: '', labels: '{}', bindings: '[]', consent: null };
        return {
          row: { ...row, ...emptied, status: 'deleted', updatedAtMs: atMs, version: row.version + 1 },
          entry: toRecordEntry({ action: 'delete', voiceId, atMs, detail: { name: row.name } }, actor),
          destroysClones: true,
        };
      });
    },

    async revokeConsent(voiceId, actor) {
      checkMaySee(voiceId, actor);
      const { kept, status } = voices.find(voiceId);
      if (kept?.kind !== 'cloned') throw notHere('is no clone, and nobody’s consent is needed for it');
      if (status === 'consent_revoked') {
        // What of it is still to be seen to is seen to now.
        await voiceCache.refresh();
        return voices.find(voiceId);
      }
      await change(voiceId, (row) => {
        if (!row || row.status === 'deleted') throw new Failure('voice_not_found');
        const atMs = Date.now();
        const given = JSON.parse(row.consent!) as ConsentRecord;
        const consent: ConsentRecord = { ...given, revokedAtMs: given.revokedAtMs ?? atMs };
        return {
          row: { ...row, status: 'consent_revoked', consent: JSON.stringify(consent), updatedAtMs: atMs },
          entry: toRecordEntry({ action: 'revoke_consent', voiceId, atMs, detail: { consent } }, actor),
          destroysClones: true,
        };
      });
      return voices.find(voiceId);
    },
  };
}

const unchangeable = 'The person whose voice this is has withdrawn consent; the voice can be deleted, not changed.';

const violation = (field: string, reason: string, message: string) =>
  new Failure('invalid_request', { message: `${field} ${message}.`, details: [{ field, reason, message }] });
const takenFault = { field: 'voice_id', reason: 'taken', message: 'is the id of another voice' };
const taken = () => violation(takenFault.field, takenFault.reason, takenFault.message);
const notHere = (message: string) => violation('voice_id', 'state', message);

/** For who is limited to some voices there are no others. */
function checkMaySee(voiceId: string, { voiceIds }: Actor): void {
  if (voiceIds && !voiceIds.includes(voiceId)) throw new Failure('voice_not_found');
}

function checkMayMake({ voiceIds }: Actor): void {
  if (!voiceIds) return;
  throw new Failure('access_denied', { message: 'This key is limited to some voices, and can make no other.' });
}

/** A voice of an engine's own, as it would stand in the table. */
function toOwnRow({ voice, bindings }: OfferedVoice, deleted: VoiceRow | undefined): RowDraft {
  const now = Date.now();
  const own = bindings.map(({ engine, speaker }) => ({ engine: engine.name, speakerId: speaker.voiceId }));
  return {
    ...{ voiceId: voice.voiceId, name: voice.name, description: voice.description, kind: 'stock', status: 'ready' },
    ...{ languageCodes: voice.languageCodes.join(' '), labels: JSON.stringify(voice.labels), consent: null },
    ...{ bindings: JSON.stringify(own), version: (deleted?.version ?? 0) + 1, createdAtMs: now, updatedAtMs: now },
  };
}
