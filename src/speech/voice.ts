// The voices on offer: those of engines, and stored voices, each bound to the engines that speak it, in order of preference.
// A stored voice replaces an engine's voice of the same id. For those who may not use a voice it does not exist, nor do its
// aliases. A name is looked up in this order: ids of the user's own voices and of everyone's, aliases of the user's account,
// aliases of everyone, and for those who may use all voices, ids of other accounts' voices. So no account's names take the
// place of another's. A request finds its voice once and uses what it found, whatever changes meanwhile.
import type { Blend, Engine, Voice } from '../engines/engine.ts';
import { Failure } from '../errors.ts';
import { nearestName } from '../runtime/nearest-name.ts';
import { createFindCurrent, type FindCurrent } from './find-current.ts';
import { type StoredVoice, StoredVoices, type VoiceStatus } from './stored-voices.ts';

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
  /** Its place in the order of voices (see `positionOf`). */
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
  /** The voice, whatever its status, that the user means by this id or alias; without a user, the id or everyone's alias. */
  lookUp(idOrAlias: string, user?: VoiceUser): OfferedVoice | undefined;
  /** The same, or a Failure `voice_not_found`. */
  find(idOrAlias: string): OfferedVoice;
  findCurrent: FindCurrent;
  /** The default voice of the setting, empty for none, and the id of the one that was chosen. */
  preferences(): { setting: string; chosen: string | undefined };
}

interface VoicesOptions {
  stored?: StoredVoices | undefined;
  /** Reads what other processes have changed of voices and lexicons. */
  readChanges?: (() => Promise<unknown>) | undefined;
  /** The id or everyone's alias of the default voice, where it is one of those on offer; it goes before the choice. */
  preferred?: string | undefined;
}

export function createVoices(
  engines: readonly Engine[],
  { stored = new StoredVoices(), readChanges = async () => {}, preferred = '' }: VoicesOptions = {},
): Voices {
  checkIds(engines);
  const changed = new Set<string>();
  stored.onChange((voiceId) => changed.add(voiceId));
  const all = new Map<string, OfferedVoice>();
  let list: OfferedVoice[] = [];
  let seen: Seen | undefined;
  let ofEngines: ReadonlyMap<string, Unordered> = new Map();
  let blended: ReadonlyMap<string, Voice | undefined> = new Map();
  let defaultId: string | undefined;

  /** Puts the voice, as it is now, into `all` and into its place in the list. */
  const place = (voiceId: string) => {
    const before = all.get(voiceId);
    if (before) list.splice(indexOf(list, before.position), 1);
    const kept = stored.all.get(voiceId);
    const each = kept ? offerStored(engines, kept, blended) : ofEngines.get(voiceId);
    if (!each) return void all.delete(voiceId);
    const rank = voiceId === defaultId ? 'default' : isNatural(each) ? 'natural' : 'synthetic';
    // An alias is not in force while the same callers may use a voice with that id.
    const isInForce = (alias: string) => isOfAnother(all.get(alias), { accountId: kept?.ownerId });
    const after = {
      ...each,
      position: positionOf(each.voice, rank),
      get aliases() {
        return stored.aliasesOf(voiceId).filter(isInForce);
      },
    };
    all.set(voiceId, after);
    list.splice(indexOf(list, after.position), 0, after);
  };
  /** Takes up changes of engines and of blends, for which all voices are made anew, or of some voices. */
  const refresh = () => {
    const hasNewBlend = (voiceId: string) => blendsOf(stored.all.get(voiceId)) !== blendsOf(all.get(voiceId)?.kept);
    if (!seen || engines.some((each, i) => hasOthers(each, seen?.[i])) || [...changed].some(hasNewBlend)) {
      seen = engines.map(({ voices, blending }) => ({ voices, blending }));
      ofEngines = voicesOf(engines);
      blended = blendAll(engines, [...stored.all.values()]);
      for (const voiceId of [...all.keys(), ...ofEngines.keys(), ...stored.all.keys()]) changed.add(voiceId);
    }
    const preferences = [preferred, stored.findNamed(preferred), stored.chosen, firstVoiceIdOf(engines)];
    // Callers may still read the list before.
    if (changed.size > 0) list = [...list];
    for (const voiceId of changed) place(voiceId);
    changed.clear();
    const before = defaultId;
    defaultId = preferences.find((voiceId) => isSpeaking(all.get(voiceId ?? '')));
    if (before === defaultId) return;
    list = [...list];
    for (const voiceId of [before, defaultId]) if (voiceId !== undefined) place(voiceId);
  };
  const lookUp = (idOrAlias: string, user?: VoiceUser) => {
    refresh();
    const byId = all.get(idOrAlias);
    const ofAll = all.get(stored.findNamed(idOrAlias) ?? '');
    if (!user) return byId ?? ofAll;
    const candidates = [byId, all.get(stored.findNamed(idOrAlias, user.accountId) ?? ''), ofAll];
    const named = candidates.find((each) => each && !isOfAnother(each, user) && mayUse(each, user));
    return named ?? (byId && mayUse(byId, user) ? byId : undefined);
  };
  return {
    list() {
      refresh();
      return list;
    },
    isCloned: (voiceId) => lookUp(voiceId)?.voice.kind === 'cloned',
    lookUp,
    // Whose voices they are is not known here, so none is named that may have been meant.
    find: (idOrAlias) => lookUp(idOrAlias) ?? voiceNotFound(idOrAlias, []),
    findCurrent: createFindCurrent(readChanges),
    preferences: () => ({ setting: preferred, chosen: stored.chosen }),
  };
}

type Seen = readonly Pick<Engine, 'voices' | 'blending'>[];
const hasOthers = ({ voices, blending }: Engine, seen: Seen[number] | undefined): boolean =>
  voices !== seen?.voices || blending !== seen.blending;

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

/** Of the voice with that position, or of the first one after it. */
function indexOf(list: readonly OfferedVoice[], position: string): number {
  let [first, end] = [0, list.length];
  while (first < end) {
    const middle = (first + end) >> 1;
    if (list[middle]!.position < position) first = middle + 1;
    else end = middle;
  }
  return first;
}

function voicesOf(engines: readonly Engine[]): ReadonlyMap<string, Unordered> {
  const found = new Map<string, Unordered>();
  for (const engine of engines) {
    for (const voice of engine.voices) {
      // Lists of voices that come from elsewhere may come to overlap: who was there first stays.
      if (found.has(voice.voiceId)) continue;
      found.set(voice.voiceId, { voice, status: 'ready', bindings: [{ engine, speaker: voice }], kept: undefined });
    }
  }
  return found;
}

const isSpeaking = (offered: Unordered | undefined): boolean =>
  offered?.status === 'ready' && offered.bindings.length > 0;

/** The default voice where none is preferred: the first of the first engine that has any. */
const firstVoiceIdOf = (engines: readonly Engine[]): string | undefined =>
  engines.find(({ voices }) => voices.length > 0)?.voices[0]?.voiceId;

/** A voice without an engine here counts as synthetic: it cannot be heard. */
export const isNatural = ({ bindings: [first] }: Pick<OfferedVoice, 'bindings'>): boolean =>
  first !== undefined && !first.engine.capabilities.isSynthetic;

/** The blends of a voice, as text. */
const blendsOf = (kept: StoredVoice | undefined): string =>
  kept?.bindings.flatMap((each) => ('blend' in each ? blendKey(each) : [])).join() ?? '';

const blendKey = ({ engine, blend }: { engine: string; blend: Blend }): string => JSON.stringify([engine, blend]);

/** The engines' voices of all blends that are stored. */
function blendAll(engines: readonly Engine[], stored: readonly StoredVoice[]): ReadonlyMap<string, Voice | undefined> {
  const bindings = stored.flatMap((voice) => voice.bindings.flatMap((each) => ('blend' in each ? [each] : [])));
  const blended = new Map<string, Voice | undefined>(bindings.map((each) => [blendKey(each), undefined]));
  for (const { name, blending } of engines) {
    const own = bindings.filter(({ engine }) => engine === name);
    const voices = blending?.blend(own.map(({ blend }) => blend)) ?? [];
    for (const [i, each] of own.entries()) blended.set(blendKey(each), voices[i]);
  }
  return blended;
}

function offerStored(
  engines: readonly Engine[],
  kept: StoredVoice,
  blended: ReadonlyMap<string, Voice | undefined>,
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
      const speaker = blended.get(blendKey(bound));
      return speaker ? [{ engine, speaker }] : [];
    }
    const { gainDb, languageCodes: spoken, openClone } = bound;
    return [{ engine, speaker: { ...voice, engine: engine.name, gainDb, languageCodes: spoken }, openClone }];
  });
  return { voice: { ...voice, engine: first?.engine ?? '' }, status, bindings, kept };
}

/** The voices that the user may use: for them there are no others. */
export function voicesFor(voices: Voices, user: VoiceUser): Voices {
  const lookUp = (idOrAlias: string) => voices.lookUp(idOrAlias, user);
  const list = () => voices.list().filter((offered) => mayUse(offered, user));
  return {
    isCloned: voices.isCloned,
    preferences: voices.preferences,
    findCurrent: voices.findCurrent,
    list,
    lookUp,
    find: (idOrAlias) => lookUp(idOrAlias) ?? voiceNotFound(idOrAlias, list()),
  };
}

function mayUse({ voice, kept }: OfferedVoice, user: VoiceUser): boolean {
  if (user.voiceIds && !user.voiceIds.includes(voice.voiceId)) return false;
  return !kept || kept.access === 'everyone' || user.usesAllVoices === true || ownerOf(kept, user) === 'self';
}

/** Whether there is no voice, or a private one of another account than the user's. */
export const isOfAnother = (offered: OfferedVoice | undefined, user: VoiceUser): boolean =>
  !offered || (offered.kept?.access === 'private' && ownerOf(offered.kept, user) === 'other');

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

type VoiceRank = 'default' | 'natural' | 'synthetic';

const digits: Readonly<Record<VoiceRank, string>> = { default: '0', natural: '1', synthetic: '2' };
/** Of the folded name; page tokens hold positions. */
const nameCharsMax = 100;
/** Numbers are ordered by value up to this length. */
const numberDigits = 6;

const positionOf = ({ name, voiceId }: Pick<Voice, 'name' | 'voiceId'>, rank: VoiceRank): string =>
  `${digits[rank]}${foldName(name)}\0${voiceId}`;

/** Without case and diacritics, and with numbers of equal length. */
const foldName = (name: string): string =>
  name
    .slice(0, 2 * nameCharsMax)
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/\d+/g, (number) => number.padStart(numberDigits, '0'))
    .slice(0, nameCharsMax)
    .toWellFormed();

interface Named {
  voice: { voiceId: string; name: string };
  aliases: readonly string[];
}

/** What is to be written in place of the name; undefined where no voice is near. */
export function nearestVoice(given: string, usable: readonly Named[]): string | undefined {
  const ids = new Map<string, string>();
  const add = (name: string, voiceId: string) => void (ids.has(name) || ids.set(name, voiceId));
  for (const { voice, aliases } of usable) for (const name of [voice.voiceId, ...aliases]) add(name, name);
  for (const { voice } of usable) add(voice.name, voice.voiceId);
  const names = [...ids.keys()];
  // Of very many, not all are compared letter by letter.
  const nearest = names.find((name) => name.toLowerCase() === given.toLowerCase()) ?? nearestName(given, names);
  return nearest === undefined ? undefined : ids.get(nearest);
}

function voiceNotFound(given: string, usable: readonly Named[]): never {
  const meant = nearestVoice(given, usable);
  if (meant === undefined) throw new Failure('voice_not_found');
  const message = `Voice not found; did you mean ${meant}? GET /api/voices lists the voices of this key.`;
  throw new Failure('voice_not_found', { message, meant });
}
