// The stored voices in memory, and the names that stand for voices besides their ids: aliases, each of one account or of
// everyone, and the choice of the default voice. Listeners get the id of each voice that changes, so that a change costs the
// same however many voices there are.
import type { Blend, Voice } from '../engines/engine.ts';

export type VoiceStatus = 'pending' | 'ready' | 'failed' | 'disabled' | 'consent_revoked';

/** Who may speak with a voice: its owner's account, or every key. */
export const voiceAccesses = ['private', 'everyone'] as const;
export type VoiceAccess = (typeof voiceAccesses)[number];

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

/** An alias that is of no account, but of everyone. */
export const ofEveryone = '';

export class StoredVoices {
  readonly #voices = new Map<string, StoredVoice>();
  /** By alias and owner, the id of the voice. The voice may not be there. */
  readonly #holders = new Map<string, Map<string, string>>();
  readonly #aliases = new Map<string, ReadonlySet<string>>();
  readonly #listeners: ((voiceId: string) => void)[] = [];
  #chosen: string | undefined;

  constructor(voices: Iterable<StoredVoice> = []) {
    for (const voice of voices) this.put(voice);
  }

  get size(): number {
    return this.#voices.size;
  }

  /** The id of the voice that was chosen as the default; undefined where none was. */
  get chosen(): string | undefined {
    return this.#chosen;
  }

  values(): Iterable<StoredVoice> {
    return this.#voices.values();
  }

  find(voiceId: string): StoredVoice | undefined {
    return this.#voices.get(voiceId);
  }

  /** The id of the voice with that alias, by the account that the alias is of. */
  holdersOf(alias: string): ReadonlyMap<string, string> | undefined {
    return this.#holders.get(alias);
  }

  aliasesOf(voiceId: string): readonly string[] {
    return [...(this.#aliases.get(voiceId) ?? [])].sort();
  }

  put(voice: StoredVoice): void {
    this.#voices.set(voice.voiceId, voice);
    this.#tell(voice.voiceId);
  }

  delete(voiceId: string): void {
    this.#voices.delete(voiceId);
    this.#tell(voiceId);
  }

  /** Gives the alias to the voice; undefined removes it. */
  name(alias: string, ownerId: string, voiceId: string | undefined): void {
    const holders = this.#holders.get(alias) ?? new Map<string, string>();
    const before = holders.get(ownerId);
    if (voiceId === undefined) holders.delete(ownerId);
    else holders.set(ownerId, voiceId);
    if (holders.size > 0) this.#holders.set(alias, holders);
    else this.#holders.delete(alias);
    for (const id of new Set([before, voiceId])) if (id !== undefined) this.#rename(id, alias, [...holders.values()]);
  }

  choose(voiceId: string | undefined): void {
    const before = this.#chosen;
    this.#chosen = voiceId;
    for (const id of [before, voiceId]) if (id !== undefined) this.#tell(id);
  }

  onChange(listener: (voiceId: string) => void): void {
    this.#listeners.push(listener);
  }

  #rename(voiceId: string, alias: string, holders: readonly string[]): void {
    const aliases = new Set(this.#aliases.get(voiceId));
    if (holders.includes(voiceId)) aliases.add(alias);
    else aliases.delete(alias);
    if (aliases.size > 0) this.#aliases.set(voiceId, aliases);
    else this.#aliases.delete(voiceId);
    this.#tell(voiceId);
  }

  #tell(voiceId: string): void {
    for (const listener of this.#listeners) listener(voiceId);
  }
}
