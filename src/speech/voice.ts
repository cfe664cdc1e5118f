// Finds engine voices and stored voices, each bound to engines in order of preference. A stored voice replaces an
// engine voice with the same id. Voices that a user may not use do not exist for that user. Lookup order: ids of own
// and public voices, aliases of the user's account, shared aliases, and, for users of all voices, ids of other
// accounts' voices. An account's names therefore never shadow the names of another account.
import type { VoiceUser } from '../accounts.ts';
import type { Blend, Engine, Voice } from '../engines.ts';
import { Failure } from '../platform/errors.ts';
import { nearestName } from '../platform/runtime/nearest-name.ts';
import {
  createFindCurrent,
  type FindCurrent,
  type StoredVoice,
  StoredVoices,
  type VoiceStatus,
} from './stored-voices.ts';

/** The owner of a voice as a caller sees it. */
export type VoiceOwner = 'self' | 'operator' | 'other';

/** Binds a voice to an engine and to the engine's voice that speaks it. */
export interface Binding {
  engine: Engine;
  /** The voice that is passed to the engine. */
  speaker: Voice;
  /** Opens the data of the clone, if the speaker is a clone. */
  openClone?: () => Promise<Uint8Array>;
}

export interface OfferedVoice {
  voice: Voice;
  status: VoiceStatus;
  /** Engines, best first; empty if no engine of the voice is open in this service. */
  bindings: readonly Binding[];
  /** Whether the best engine makes natural voices. A voice without an open engine counts as synthetic. */
  isNatural: boolean;
  /** The voices of the blend; undefined for a voice that is not a blend. */
  blend: Blend | undefined;
  /** Engines of the voice, each with its id for the voice; undefined if Sonant created the voice, such as a clone. */
  bindingIds: readonly { engine: string; voiceId: string | undefined }[];
  /** The stored voice; undefined for an engine voice without stored changes. */
  kept: StoredVoice | undefined;
  /** Aliases that requests may use, in order. */
  aliases: readonly string[];
  /** Position in the order of voices (see `positionOf`). */
  position: string;
}

/** The voices of the service, or those that a user may use. */
export interface Voices {
  /** All voices, each once, ordered by position. */
  list(): readonly OfferedVoice[];
  /**
   * Returns the voice that the user means by this id or alias, regardless of the voice's status. Without a user, finds
   * only ids and shared aliases.
   */
  lookUp(idOrAlias: string): OfferedVoice | undefined;
  /** Like `lookUp`, but throws `voice_not_found` if the voice does not exist. */
  find(idOrAlias: string): OfferedVoice;
  findCurrent: FindCurrent;
  /** Returns the most similar usable name; undefined if no name is similar. */
  nearest(given: string): string | undefined;
  /** The voice of callers who name none. */
  findDefault(): DefaultVoice;
  /** The voices that the user may use. Other voices do not exist for this user. */
  usableBy(user: VoiceUser): Voices;
  /** Whether the voice is cloned from a person, who can withdraw consent. */
  isCloned(voiceId: string): boolean;
  /** Whether no voice that callers of the account may use has this alias as its id. */
  isFree(alias: string, accountId: string | undefined): boolean;
  /** Voices of engines that are not offered, because another engine has a voice with the same id. */
  leftOut(): readonly Voice[];
}

interface VoicesOptions {
  stored?: StoredVoices | undefined;
  /** Reads changes that other processes have made to voices and lexicons. */
  readChanges?: (() => Promise<unknown>) | undefined;
  /**
   * Id or shared alias of the default voice, used if this voice can speak. This option overrides the voice chosen with
   * SetDefaultVoice.
   */
  preferred?: string | undefined;
  /** Called when the voices of engines have changed and some are left out. */
  onLeftOut?: ((voices: readonly Voice[]) => void) | undefined;
}

export function createVoices(
  engines: readonly Engine[],
  { stored = new StoredVoices(), readChanges = async () => {}, preferred = '', onLeftOut }: VoicesOptions = {},
): Voices {
  const changed = new Set<string>();
  stored.onChange((voiceId) => changed.add(voiceId));
  const all = new Map<string, OfferedVoice>();
  let list: OfferedVoice[] = [];
  let seen: Seen | undefined;
  let ofEngines: ReadonlyMap<string, Unordered> = new Map();
  let leftOut: readonly Voice[] = [];
  let blended: ReadonlyMap<string, Voice | undefined> = new Map();
  let defaultId: string | undefined;

  /** Updates the voice in `all` and in the ordered list. */
  const place = (voiceId: string) => {
    const before = all.get(voiceId);
    if (before) list.splice(indexOf(list, before.position), 1);
    const kept = stored.all.get(voiceId);
    const each = kept ? offerStored(engines, kept, blended) : ofEngines.get(voiceId);
    if (!each) return void all.delete(voiceId);
    const [first] = each.bindings;
    const isNatural = first !== undefined && !first.engine.capabilities.isSynthetic;
    const rank = voiceId === defaultId ? 'default' : isNatural ? 'natural' : 'synthetic';
    // An alias is inactive while the same callers may use a voice whose id equals the alias.
    const isInForce = (alias: string) => isOfAnother(all.get(alias), { accountId: kept?.ownerId });
    const after = {
      ...each,
      ...factsOf(each),
      isNatural,
      position: positionOf(each.voice, rank),
      get aliases() {
        return stored.aliasesOf(voiceId).filter(isInForce);
      },
    };
    all.set(voiceId, after);
    list.splice(indexOf(list, after.position), 0, after);
  };
  /** Rebuilds the changed voices, or all voices if engines or blends have changed. */
  const refresh = () => {
    const hasNewBlend = (voiceId: string) => blendsOf(stored.all.get(voiceId)) !== blendsOf(all.get(voiceId)?.kept);
    if (!seen || engines.some((each, i) => hasOthers(each, seen?.[i])) || [...changed].some(hasNewBlend)) {
      const hasOtherVoices = engines.some(({ voices }, i) => voices !== seen?.[i]?.voices);
      seen = engines.map(({ voices, blending }) => ({ voices, blending }));
      ofEngines = voicesOf(engines);
      leftOut = engines.flatMap(({ voices }) => voices).filter((each) => ofEngines.get(each.voiceId)?.voice !== each);
      if (hasOtherVoices && leftOut.length > 0) onLeftOut?.(leftOut);
      blended = blendAll(engines, [...stored.all.values()]);
      for (const voiceId of [...all.keys(), ...ofEngines.keys(), ...stored.all.keys()]) changed.add(voiceId);
    }
    const preferences = [preferred, stored.findNamed(preferred), stored.chosen, firstVoiceIdOf(engines)];
    // The list is copied, because callers may still read the old list.
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
  const findCurrent = createFindCurrent(readChanges);
  const viewOf = (user?: VoiceUser): Voices => {
    const own = (idOrAlias: string) => lookUp(idOrAlias, user);
    const listOwn = () => {
      refresh();
      return user ? list.filter((offered) => mayUse(offered, user)) : list;
    };
    return {
      list: listOwn,
      lookUp: own,
      // Without a user, no similar names are suggested.
      find: (idOrAlias) => own(idOrAlias) ?? voiceNotFound(user && nearestVoice(idOrAlias, listOwn())),
      findCurrent,
      nearest: (given) => nearestVoice(given, listOwn()),
      findDefault: () => defaultAmong(listOwn(), preferred, stored.chosen),
      usableBy: viewOf,
      isCloned: (voiceId) => lookUp(voiceId)?.voice.kind === 'cloned',
      isFree(alias, accountId) {
        refresh();
        return isOfAnother(all.get(alias), { accountId });
      },
      leftOut() {
        refresh();
        return leftOut;
      },
    };
  };
  return viewOf();
}

type Seen = readonly Pick<Engine, 'voices' | 'blending'>[];
const hasOthers = ({ voices, blending }: Engine, seen: Seen[number] | undefined): boolean =>
  voices !== seen?.voices || blending !== seen.blending;

type Unordered = Pick<OfferedVoice, 'voice' | 'status' | 'bindings' | 'kept'>;

const factsOf = ({ kept, bindings }: Unordered) => ({
  blend: kept?.bindings.flatMap((each) => ('blend' in each ? [each.blend] : []))[0],
  bindingIds: kept
    ? kept.bindings.map((each) => ({ engine: each.engine, voiceId: 'speakerId' in each ? each.speakerId : undefined }))
    : bindings.map(({ engine, speaker }) => ({ engine: engine.name, voiceId: speaker.voiceId })),
});

/** Index of the voice with this position, or else of the next voice. */
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
  // Servers come last, because a server may list the id of any voice.
  for (const engine of engines.toSorted((a, b) => Number(a.servers !== undefined) - Number(b.servers !== undefined))) {
    for (const voice of engine.voices) {
      // Voice lists of different engines may overlap; the first engine takes precedence.
      if (found.has(voice.voiceId)) continue;
      found.set(voice.voiceId, { voice, status: 'ready', bindings: [{ engine, speaker: voice }], kept: undefined });
    }
  }
  return found;
}

const isSpeaking = (offered: Unordered | undefined): boolean =>
  offered?.status === 'ready' && offered.bindings.length > 0;

/** The default voice if none is preferred: the first voice of the first engine that has voices. */
const firstVoiceIdOf = (engines: readonly Engine[]): string | undefined =>
  engines.find(({ voices }) => voices.length > 0)?.voices[0]?.voiceId;

/** The blends of a voice as text. */
const blendsOf = (kept: StoredVoice | undefined): string =>
  kept?.bindings.flatMap((each) => ('blend' in each ? blendKey(each) : [])).join() ?? '';

const blendKey = ({ engine, blend }: { engine: string; blend: Blend }): string => JSON.stringify([engine, blend]);

/** The engine voices of all stored blends. */
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

function mayUse({ voice, kept }: OfferedVoice, user: VoiceUser): boolean {
  if (user.voiceIds && !user.voiceIds.includes(voice.voiceId)) return false;
  return !kept || kept.access === 'everyone' || user.usesAllVoices === true || ownerOf(kept, user) === 'self';
}

/** Whether the voice does not exist, or is private to another account. */
const isOfAnother = (offered: OfferedVoice | undefined, user: VoiceUser): boolean =>
  !offered || (offered.kept?.access === 'private' && ownerOf(offered.kept, user) === 'other');

export function ownerOf(kept: Pick<StoredVoice, 'ownerId'> | undefined, { accountId }: VoiceUser): VoiceOwner {
  if (kept?.ownerId === undefined) return 'operator';
  return kept.ownerId === accountId ? 'self' : 'other';
}

type VoiceRank = 'default' | 'natural' | 'synthetic';

const digits: Readonly<Record<VoiceRank, string>> = { default: '0', natural: '1', synthetic: '2' };
/** Maximum length of the folded name. Names are limited because page cursors contain them. */
const nameCharsMax = 100;
/** Numbers in names are ordered by value if they have at most this many digits. */
const numberDigits = 6;

const positionOf = ({ name, voiceId }: Pick<Voice, 'name' | 'voiceId'>, rank: VoiceRank): string =>
  `${digits[rank]}${foldName(name)}\0${voiceId}`;

/** Folds case and diacritics, and pads numbers to equal length. */
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

/** Returns the most similar usable name; undefined if no name is similar. */
function nearestVoice(given: string, usable: readonly Named[]): string | undefined {
  const ids = new Map<string, string>();
  const add = (name: string, voiceId: string) => void (ids.has(name) || ids.set(name, voiceId));
  for (const { voice, aliases } of usable) for (const name of [voice.voiceId, ...aliases]) add(name, name);
  for (const { voice } of usable) add(voice.name, voice.voiceId);
  const names = [...ids.keys()];
  // `nearestName` compares only some of the names letter by letter if there are very many.
  const nearest = names.find((name) => name.toLowerCase() === given.toLowerCase()) ?? nearestName(given, names);
  return nearest === undefined ? undefined : ids.get(nearest);
}

function voiceNotFound(meant: string | undefined): never {
  if (meant === undefined) throw new Failure('voice_not_found');
  const message = `Voice not found; did you mean ${meant}? GET /api/voices lists the voices of this key.`;
  throw new Failure('voice_not_found', { message, meant });
}

/** Source of the default voice: SONANT_DEFAULT_VOICE, the chosen voice, or the order of the voices. */
type DefaultSource = 'setting' | 'choice' | 'order';

interface DefaultVoice {
  /** The default voice; undefined if no voice can speak. */
  offered: OfferedVoice | undefined;
  source: DefaultSource;
  /** The chosen voice, even if SONANT_DEFAULT_VOICE overrides the choice; undefined if no existing voice is chosen. */
  chosen: OfferedVoice | undefined;
  /** The id of the chosen voice, even if the voice does not exist. */
  chosenId: string | undefined;
  /** SONANT_DEFAULT_VOICE; empty if it is not set. */
  setting: string;
}

function defaultAmong(list: readonly OfferedVoice[], setting: string, chosenId: string | undefined): DefaultVoice {
  const offered = list.find(({ status, bindings }) => status === 'ready' && bindings.length > 0);
  const isOffered = (name = '') =>
    offered !== undefined && (offered.voice.voiceId === name || offered.aliases.includes(name));
  const source = isOffered(setting) ? 'setting' : isOffered(chosenId) ? 'choice' : 'order';
  return { offered, source, chosen: list.find(({ voice }) => voice.voiceId === chosenId), chosenId, setting };
}
