// Writes a stored voice to a file, and imports such a file. Clones in the file are encrypted, so they are useless
// without the master key. `owner`, `access` and `lexicon_ids` may be absent in files of earlier versions.
//     { "sonant_voice": 1, "voice_id", "name", "description", "kind", "status", "language_codes", "labels", "consent",
//       "bindings": [{ "engine", "voice_id" } | { "engine", "blend": [{ "voice_id", "weight" }] } |
//         { "engine", "clone_id", "gain_db", "language_codes", "sealed" }],
//       "owner": the id of its account, null for the operator's, "access", "lexicon_ids" }

import { operator, toRecordEntry } from '../../accounts.ts';
import type { Blend } from '../../engines.ts';
import { Failure, type FieldViolation } from '../../platform/errors.ts';
import { createId } from '../../platform/runtime/id.ts';
import { toSnakeCase } from '../../platform/store/row-store.ts';
import { speechFields } from '../../speech.ts';
import type { Vault } from './clone-vault.ts';
import { toNewRow } from './voice-changes.ts';
import { breaksOf, checkLanguages, faultTo } from './voice-fields.ts';
import { type BindingRecord, bindingsOf, type ConsentRecord } from './voice-from-row.ts';
import { type SealedClone, textNames, textsOf, type VoiceRow, type VoiceRows, type VoiceTexts } from './voice-rows.ts';

const version = 1;

export async function exportVoice(rows: VoiceRows, voiceId: string): Promise<string> {
  const row = await rows.find(voiceId);
  if (!row || row.status === 'deleted') {
    throw new Failure('voice_not_found', {
      message: `No stored voice ${voiceId} exists. Voices of engines need no export.`,
    });
  }
  const clones = new Map((await rows.listClones(voiceId)).map(({ cloneId, sealed }) => [cloneId, sealed]));
  const bindings = bindingsOf(row).map((bound) => {
    if ('speakerId' in bound && bound.blend) {
      return { engine: bound.engine, blend: bound.blend.map(({ voiceId: id, weight }) => ({ voice_id: id, weight })) };
    }
    if ('speakerId' in bound) return { engine: bound.engine, voice_id: bound.speakerId };
    const { engine, cloneId, gainDb, languageCodes } = bound;
    const sealed = clones.get(cloneId);
    return {
      engine,
      clone_id: cloneId,
      gain_db: gainDb,
      language_codes: languageCodes,
      sealed: sealed && Buffer.from(sealed).toString('base64'),
    };
  });
  const file = {
    sonant_voice: version,
    voice_id: voiceId,
    ...Object.fromEntries(textNames.map((name) => [toSnakeCase(name), row[name]])),
    kind: row.kind,
    status: row.status,
    language_codes: row.languageCodes.split(' '),
    labels: JSON.parse(row.labels),
    bindings,
    consent: row.consent === null ? null : JSON.parse(row.consent),
    owner: row.ownerId,
    access: row.access,
    lexicon_ids: row.lexiconIds ? row.lexiconIds.split(' ') : [],
  };
  return `${JSON.stringify(file, null, 2)}\n`;
}

interface VoiceImport {
  rows: VoiceRows;
  vault: Vault;
  /** Who may use the voice. Default: as the file states. */
  access?: VoiceRow['access'] | undefined;
}

/** Stores the voice from the file and returns its id. Rejects a file that `exportVoice` did not write. */
export async function importVoiceFile(text: string, { rows, vault, access }: VoiceImport): Promise<string> {
  const file = parseFile(text);
  const { voiceId, name } = file;
  if (file.consent && (await isWithdrawn(file.consent, rows))) {
    const message =
      'The person cloned has withdrawn their consent since the file was written, so the voice is not imported.';
    throw new Failure('invalid_request', { message });
  }
  const clones: SealedClone[] = [];
  const bindings: BindingRecord[] = [];
  for (const bound of file.bindings) {
    if ('speakerId' in bound) bindings.push(bound);
    else {
      const plain = await vault.open(bound.sealed, bound.cloneId).catch((cause) => {
        const message = 'The voice was exported with a different SONANT_MASTER_KEY.';
        throw new Failure('invalid_request', { message }, cause);
      });
      const cloneId = createId('cln');
      clones.push({ cloneId, sealed: await vault.seal(plain, cloneId) });
      bindings.push({ engine: bound.engine, cloneId, gainDb: bound.gainDb, languageCodes: bound.languageCodes });
    }
  }
  const atMs = Date.now();
  await rows.change(voiceId, (before) => {
    if (before && before.status !== 'deleted') {
      throw new Failure('invalid_request', { message: `Voice ${voiceId} already exists. Delete it first.` });
    }
    const { bindings: _, ...stored } = file;
    const voice = { ...stored, bindings, access: access ?? file.access };
    const row = toNewRow(before, voice, { atMs, actor: operator });
    const { kind, consent, ownerId } = file;
    const detail = { name, kind, consent, ownerId, access: voice.access };
    return { row, clones, entry: toRecordEntry({ action: 'import', voiceId, atMs, detail }, operator) };
  });
  return voiceId;
}

/** Whether consent was withdrawn. The audit log is searched, because the voice may be deleted. */
async function isWithdrawn({ audioSha256, givenAtMs }: ConsentRecord, rows: VoiceRows): Promise<boolean> {
  for await (const { action, detail } of rows.readRecord()) {
    if (action !== 'revoke_consent') continue;
    const { consent } = JSON.parse(detail) as { consent: ConsentRecord };
    if (consent.audioSha256 === audioSha256 && consent.givenAtMs === givenAtMs) return true;
  }
  return false;
}

type FileBinding =
  | Extract<BindingRecord, { speakerId: string }>
  | { engine: string; cloneId: string; gainDb: number; languageCodes: readonly string[]; sealed: Buffer };

interface VoiceFile extends VoiceTexts, Pick<VoiceRow, 'voiceId' | 'kind' | 'ownerId' | 'access'> {
  status: 'ready' | 'disabled';
  languageCodes: readonly string[];
  labels: Record<string, string>;
  bindings: readonly FileBinding[];
  consent: ConsentRecord | null;
  lexiconIds: readonly string[];
}

function parseFile(text: string): VoiceFile {
  const faults: FieldViolation[] = [];
  const fault = faultTo(faults);
  const file = parseObject(text);
  const textOf = (field: string) => (typeof file[field] === 'string' ? file[field] : '');
  const voiceId = textOf('voice_id');
  const texts = textsOf(Object.fromEntries(textNames.map((name) => [name, textOf(toSnakeCase(name))])));
  const labels = isTexts(file.labels) ? file.labels : {};
  const { owner = null, access: given = 'everyone' } = file;
  const access = speechFields.voiceAccesses.find((each) => each === given);
  if (!access)
    fault('access', 'enum', `must be one of ${speechFields.voiceAccesses.join(', ')}`, speechFields.voiceAccesses);
  faults.push(...breaksOf({ voiceId, ...texts, labels }));
  if (!isOwner(owner)) fault('owner', 'format', 'must be the id of an account, or null');
  const codes = Array.isArray(file.language_codes) ? file.language_codes.map(String) : [];
  const languageCodes = checkLanguages(codes, fault);
  const { kind, status, lexicon_ids: lexiconIds = [] } = file;
  if (!isLexiconIds(lexiconIds))
    fault('lexicon_ids', 'format', `must be at most ${speechFields.lexiconIdsMax} lexicon ids`);
  const bindings = (Array.isArray(file.bindings) ? file.bindings : []).map(parseBinding);
  if (kind !== 'stock' && kind !== 'cloned') fault('kind', 'enum', 'must be stock or cloned', ['stock', 'cloned']);
  if (status !== 'ready' && status !== 'disabled')
    fault('status', 'enum', 'must be ready or disabled: a voice whose consent was withdrawn cannot be imported', [
      'ready',
      'disabled',
    ]);
  if (bindings.length === 0 || bindings.includes(undefined))
    fault('bindings', 'type', 'must be a list of complete bindings, at least one');
  const isCloned = kind === 'cloned';
  if (isCloned && !isConsent(file.consent)) fault('consent', 'required', 'is required for a clone');
  if (bindings.some((bound) => bound && 'sealed' in bound) && !isCloned)
    fault('kind', 'conflict', 'must be cloned, because a binding contains a clone');
  if (faults.length > 0) {
    const all = faults.map(({ field, message }) => `${field} ${message}`).join('; ');
    throw new Failure('invalid_request', {
      message: `The exported voice is invalid: ${all}.`,
      details: faults,
    });
  }
  return {
    ...texts,
    voiceId,
    labels,
    languageCodes,
    bindings: bindings as FileBinding[],
    kind: kind as 'stock' | 'cloned',
    status: status as 'ready' | 'disabled',
    consent: isCloned ? (file.consent as ConsentRecord) : null,
    ownerId: owner as string | null,
    access: access!,
    lexiconIds: lexiconIds as readonly string[],
  };
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const file = JSON.parse(text);
    if (file?.sonant_voice === version) return file;
  } catch {
    // Text that is not JSON gets the error below.
  }
  throw new Failure('invalid_request', { message: `The file is not a voice exported with sonant voice export.` });
}

const isTexts = (value: unknown): value is Record<string, string> =>
  typeof value === 'object' && value !== null && Object.values(value).every((text) => typeof text === 'string');

const isOwner = (value: unknown): boolean =>
  value === null || (typeof value === 'string' && /^[a-z]{3}_[0-9A-Za-z]{1,60}$/.test(value));

const isLexiconIds = (value: unknown): boolean =>
  Array.isArray(value) &&
  value.length <= speechFields.lexiconIdsMax &&
  new Set(value).size === value.length &&
  value.every((id) => typeof id === 'string' && /^lex_[0-9A-Za-z]{1,60}$/.test(id));

const isConsent = (value: unknown): boolean => {
  const { speakerName, statement, languageCode, audioSha256, givenAtMs, confirmedBy } = (value ?? {}) as ConsentRecord;
  const texts = [speakerName, statement, languageCode, audioSha256, confirmedBy];
  return texts.every((text) => typeof text === 'string' && text !== '') && typeof givenAtMs === 'number';
};

function parseBinding(value: unknown): FileBinding | undefined {
  const { engine, voice_id, blend, clone_id, gain_db, language_codes, sealed } = (value ?? {}) as Record<
    string,
    unknown
  >;
  if (typeof engine !== 'string') return undefined;
  if (Array.isArray(blend)) return parseBlend(engine, blend);
  if (typeof voice_id === 'string') return { engine, speakerId: voice_id };
  if (typeof clone_id !== 'string' || typeof gain_db !== 'number' || typeof sealed !== 'string') return undefined;
  if (!Array.isArray(language_codes) || language_codes.some((code) => typeof code !== 'string')) return undefined;
  return {
    engine,
    cloneId: clone_id,
    gainDb: gain_db,
    languageCodes: language_codes,
    sealed: Buffer.from(sealed, 'base64'),
  };
}

function parseBlend(engine: string, blend: readonly unknown[]): FileBinding | undefined {
  const parts = blend.map((part) => {
    const { voice_id: voiceId, weight } = (part ?? {}) as Record<string, unknown>;
    return { voiceId, weight };
  });
  const isPart = (part: { voiceId: unknown; weight: unknown }): part is Blend[number] =>
    typeof part.voiceId === 'string' && typeof part.weight === 'number' && part.weight >= 0;
  const known = parts.filter(isPart);
  const sum = known.reduce((all, { weight }) => all + weight, 0);
  const isWhole = known.length === parts.length && parts.length > 1;
  if (!isWhole || !(sum > 0 && sum < Infinity)) return undefined;
  return { engine, speakerId: '', blend: known.map(({ voiceId, weight }) => ({ voiceId, weight: weight / sum })) };
}
