// The voices on offer: those of engines, and stored voices, each bound to the engines that speak it, in order of preference.
// A stored voice replaces an engine's voice of the same id. For those who may not use a voice it does not exist, nor do its
// aliases. A request finds its voice once and uses what it found, whatever changes meanwhile.
import type { Blend, Engine, Voice } from '../engines/engine.ts';
import { Failure } from '../errors.ts';
import { voiceNotFound } from './nearest-voice.ts';
import { aliasesById, noNames, type ReadNames, type VoiceNames } from './voice-names.ts';
import { positionOf } from './voice-order.ts';

export type VoiceStatus = 'pending' | 'ready' | 'failed' | 'disabled' | 'consent_revoked';

/** Who may speak with a voice: its owner's account, or every key. */
export const voiceAccesses = ['private', 'everyone'] as const;
export type VoiceAccess = (typeof voiceAccesses)[number];

/** Whose a voice is, as a caller sees it. */
export type VoiceOwner = 'self' | 'operator' | 'other';

/** What decides which voices a caller may use. */
export interface VoiceUser {
  /** The only voices; undefined for no such list. */
  voiceIds?: readonly string[] | undefined;
  /** The private voices of this account are among them; undefined for those of none. */
  accountId?: string | undefined;
  /** Whether the private voices of all accounts are. */
  usesAllVoices?: boolean | undefined;
}

/** A stored voice, as far as speech needs it. */
export interface StoredVoice {
  voiceId: string;
  name: string;
  description: string;
  kind: Voice['kind'];
  status: VoiceStatus;
  languageCodes: readonly string[];
  labels: Readonly<Record<string, string>>;
  /** Another one where it is bound otherwise than before. */
  version: string;
  /** The best first. */
  bindings: readonly StoredBinding[];
  consent: VoiceConsent | undefined;
  /** The account that it belongs to; undefined for the operator's. */
  ownerId: string | undefined;
  access: VoiceAccess;
  /** Every request that speaks with it uses these. */
  lexiconIds: readonly string[];
  createdAt: Date;
  updatedAt: Date;
  /** Aborts with a Failure when the voice may not be used any more. */
  ended: AbortSignal;
}

/** What speaks a stored voice: a voice of an engine's own, a blend of several, or a clone. */
export type StoredBinding =
  | { engine: string; speakerId: string }
  | { engine: string; blend: Blend }
  | { engine: string; gainDb: number; languageCodes: readonly string[]; openClone(): Promise<Uint8Array> };

/** A person's consent. */
export interface VoiceConsent {
  speakerName: string;
  statement: string;
  languageCode: string;
  /** Of the recording, in hexadecimal. */
  audioSha256: string;
  givenAt: Date;
  /** Who brought it, such as "key:key_01J...". */
  confirmedBy: string;
  revokedAt: Date | undefined;
}

/** A way to speak a voice. */
export interface Binding {
  engine: Engine;
  /** The voice that the engine is given. */
  speaker: Voice;
  /** What the engine's clone is spoken from, where the speaker is one. */
  openClone?: () => Promise<Uint8Array>;
}

export interface OfferedVoice {
  voice: Voice;
  status: VoiceStatus;
  /** The best first; none where its engines are not open here. */
  bindings: readonly Binding[];
  /** Undefined for a voice just as its engine brings it. */
  kept: StoredVoice | undefined;
  /** Other names that requests may have for it, in order. */
  aliases: readonly string[];
  /** Its place in the order of voices (voice-order.ts). */
  position: string;
}

/** Of what voices of its engine it is blended; undefined for a voice that is no blend. */
export const blendOf = ({ kept }: OfferedVoice): Blend | undefined =>
  kept?.bindings.flatMap((each) => ('blend' in each ? [each.blend] : []))[0];

/** Who speaks the voice: by which engine, and as which of its own voices; undefined for what it has made, as a clone. */
export const bindingIdsOf = ({ kept, bindings }: OfferedVoice): { engine: string; voiceId: string | undefined }[] =>
  kept
    ? kept.bindings.map((each) => ({ engine: each.engine, voiceId: 'speakerId' in each ? each.speakerId : undefined }))
    : bindings.map(({ engine, speaker }) => ({ engine: engine.name, voiceId: speaker.voiceId }));

export interface Voices {
  /** Whether it is the voice of a person who can withdraw consent. */
  isCloned(voiceId: string): boolean;
  /** All voices, each id once, in the order of their positions. */
  list(): readonly OfferedVoice[];
  /** The voice with this id or alias, whatever its status. */
  lookUp(idOrAlias: string): OfferedVoice | undefined;
  /** The same, or a Failure `voice_not_found`. */
  find(idOrAlias: string): OfferedVoice;
  /** The default voice of the setting, empty for none, and the id of the one that was chosen. */
  preferences(): { setting: string; chosen: string | undefined };
}

/** Answers another array when anything in it is another. */
export type ListStored = () => readonly StoredVoice[];

export interface VoicesOptions {
  listStored?: ListStored | undefined;
  /** Aliases, and the choice of the default voice. */
  readNames?: ReadNames | undefined;
  /** The id or alias of the default voice, where it is one of those on offer; it goes before the choice. */
  preferred?: string | undefined;
}

export function createVoices(engines: readonly Engine[], options: VoicesOptions = {}): Voices {
  const { listStored = () => noneStored, readNames = () => noNames, preferred = '' } = options;
  checkIds(engines);
  let seen: { names?: VoiceNames; stored?: readonly StoredVoice[]; ofEngines: Seen } = { ofEngines: [] };
  let offered = new Map<string, OfferedVoice>();
  let list: readonly OfferedVoice[] = [];
  const look = () => {
    const names = readNames();
    const stored = listStored();
    if (
      seen.names !== names ||
      seen.stored !== stored ||
      engines.some((each, i) => hasOthers(each, seen.ofEngines[i]))
    ) {
      seen = { names, stored, ofEngines: engines.map(({ voices, blending }) => ({ voices, blending })) };
      offered = offer(engines, stored, { names, preferred });
      list = [...offered.values()].sort((a, b) => (a.position < b.position ? -1 : 1));
    }
    return offered;
  };
  const lookUp = (idOrAlias: string) => {
    const all = look();
    return all.get(idOrAlias) ?? all.get(readNames().aliases.get(idOrAlias) ?? '');
  };
  return {
    list() {
      look();
      return list;
    },
    isCloned: (voiceId) => look().get(voiceId)?.voice.kind === 'cloned',
    lookUp,
    // Whose voices they are is not known here, so none is named that may have been meant.
    find: (idOrAlias) => lookUp(idOrAlias) ?? voiceNotFound(idOrAlias, []),
    preferences: () => ({ setting: preferred, chosen: readNames().chosen }),
  };
}

type Seen = readonly Pick<Engine, 'voices' | 'blending'>[];
const hasOthers = ({ voices, blending }: Engine, seen: Seen[number] | undefined): boolean =>
  voices !== seen?.voices || blending !== seen.blending;

const noneStored: readonly StoredVoice[] = [];

function checkIds(engines: readonly Engine[]): void {
  const owners = new Map<string, string>();
  for (const { name, voices } of engines) {
    for (const { voiceId } of voices) {
      const rival = owners.get(voiceId);
      const message = `voice ${voiceId} is offered by both ${rival} and ${name}`;
      if (rival !== undefined) throw new Failure('engine_unavailable', { message });
      owners.set(voiceId, name);
    }
  }
}

type Unordered = Omit<OfferedVoice, 'position' | 'aliases'>;

function offer(
  engines: readonly Engine[],
  stored: readonly StoredVoice[],
  { names, preferred }: { names: VoiceNames; preferred: string },
): Map<string, OfferedVoice> {
  const found = new Map<string, Unordered>();
  for (const engine of engines) {
    for (const voice of engine.voices) {
      // Lists of voices that come from elsewhere may come to overlap: who was there first stays.
      if (found.has(voice.voiceId)) continue;
      found.set(voice.voiceId, { voice, status: 'ready', bindings: [{ engine, speaker: voice }], kept: undefined });
    }
  }
  const blended = blendAll(engines, stored);
  for (const voice of stored) found.set(voice.voiceId, offerStored(engines, voice, blended));
  const preferences = [preferred, names.aliases.get(preferred), names.chosen, firstVoiceIdOf(engines)];
  const defaultId = preferences.find((voiceId) => isSpeaking(found.get(voiceId ?? '')));
  const aliases = aliasesById(names, (voiceId) => found.has(voiceId));
  const offered = new Map<string, OfferedVoice>();
  for (const [voiceId, each] of found) {
    const rank = voiceId === defaultId ? 'default' : isNatural(each) ? 'natural' : 'synthetic';
    offered.set(voiceId, { ...each, aliases: aliases.get(voiceId) ?? [], position: positionOf(each.voice, rank) });
  }
  return offered;
}

const isSpeaking = (offered: Unordered | undefined): boolean =>
  offered?.status === 'ready' && offered.bindings.length > 0;

/** The default voice where none is preferred: the first of the first engine that has any. */
const firstVoiceIdOf = (engines: readonly Engine[]): string | undefined =>
  engines.find(({ voices }) => voices.length > 0)?.voices[0]?.voiceId;

/** A voice without an engine here counts as synthetic: it cannot be heard. */
export const isNatural = ({ bindings: [first] }: Pick<OfferedVoice, 'bindings'>): boolean =>
  first !== undefined && !first.engine.capabilities.isSynthetic;

/** The engines' voices of all blends that are stored. */
function blendAll(engines: readonly Engine[], stored: readonly StoredVoice[]): ReadonlyMap<Blend, Voice | undefined> {
  const bindings = stored.flatMap((voice) => voice.bindings.flatMap((each) => ('blend' in each ? [each] : [])));
  return new Map(
    engines.flatMap(({ name, blending }) => {
      const blends = bindings.filter(({ engine }) => engine === name).map(({ blend }) => blend);
      const voices = blending?.blend(blends) ?? [];
      return blends.map((blend, i) => [blend, voices[i]] as const);
    }),
  );
}

function offerStored(
  engines: readonly Engine[],
  kept: StoredVoice,
  blended: ReadonlyMap<Blend, Voice | undefined>,
): Unordered {
  const { voiceId, name, description, kind, status, languageCodes, labels, version } = kept;
  const [first] = kept.bindings;
  const voice = { voiceId, name, description, kind, languageCodes, labels, version, gainDb: 0 };
  const bindings = kept.bindings.flatMap((bound): Binding[] => {
    const engine = engines.find((each) => each.name === bound.engine);
    if (!engine) return [];
    if ('speakerId' in bound) {
      const speaker = engine.voices.find((each) => each.voiceId === bound.speakerId);
      return speaker ? [{ engine, speaker }] : [];
    }
    if ('blend' in bound) {
      const speaker = blended.get(bound.blend);
      return speaker ? [{ engine, speaker }] : [];
    }
    const { gainDb, languageCodes: spoken, openClone } = bound;
    return [{ engine, speaker: { ...voice, engine: engine.name, gainDb, languageCodes: spoken }, openClone }];
  });
  return { voice: { ...voice, engine: first?.engine ?? '' }, status, bindings, kept };
}

/** The voices that the user may use: for them there are no others. */
export function voicesFor(voices: Voices, user: VoiceUser): Voices {
  const lookUp = (idOrAlias: string) => {
    const found = voices.lookUp(idOrAlias);
    return found && mayUse(found, user) ? found : undefined;
  };
  const list = () => voices.list().filter((offered) => mayUse(offered, user));
  return {
    isCloned: voices.isCloned,
    preferences: voices.preferences,
    list,
    lookUp,
    find: (idOrAlias) => lookUp(idOrAlias) ?? voiceNotFound(idOrAlias, list()),
  };
}

/** The names as ids of voices; one of no voice stays as it is. */
export const toVoiceIds = (names: readonly string[], voices: Pick<Voices, 'lookUp'>): string[] => [
  ...new Set(names.map((name) => voices.lookUp(name)?.voice.voiceId ?? name)),
];

function mayUse({ voice, kept }: OfferedVoice, user: VoiceUser): boolean {
  if (user.voiceIds && !user.voiceIds.includes(voice.voiceId)) return false;
  return !kept || kept.access === 'everyone' || user.usesAllVoices === true || ownerOf(kept, user) === 'self';
}

export function ownerOf(kept: Pick<StoredVoice, 'ownerId'> | undefined, { accountId }: VoiceUser): VoiceOwner {
  if (kept?.ownerId === undefined) return 'operator';
  return kept.ownerId === accountId ? 'self' : 'other';
}

/** Whether the voice speaks the language: RFC 4647 filtering, and a bare language stands for all its regions. */
export function isSpokenBy({ languageCodes }: Pick<Voice, 'languageCodes'>, languageCode: string): boolean {
  const wanted = languageCode.toLowerCase();
  return languageCodes.some((range) => {
    const code = range.toLowerCase();
    return code === wanted || wanted.startsWith(`${code}-`) || code.startsWith(`${wanted}-`);
  });
}
