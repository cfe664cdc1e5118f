// The stored voices in memory, and the names that stand for voices besides their ids: aliases, each of one account or of
// everyone, and the choice of the default voice. Listeners get the id of each voice that changes, so that the cost of a change
// does not grow with the number of voices.
import type { Blend, Voice } from '../engines/engine.ts';
import type { VoiceTexts } from '../store/voice-rows.ts';

export type VoiceStatus = 'pending' | 'ready' | 'failed' | 'disabled' | 'consent_revoked';

/** Who may speak with a voice: its owner's account, or every key. */
export const voiceAccesses = ['private', 'everyone'] as const;
export type VoiceAccess = (typeof voiceAccesses)[number];

/** A stored voice, as far as speech needs it. */
export interface StoredVoice extends VoiceTexts {
  voiceId: string;
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

/** In place of the account of an alias that is everyone's. */
export const ofEveryone = '';

export class StoredVoices {
  readonly #voices = new Map<string, StoredVoice>();
  /** The id of a voice, by owner and alias. The voice may not be there. */
  readonly #named = new Map<string, string>();
  /** The keys of `#named`, by the id of their voice. */
  readonly #names = new Map<string, Set<string>>();
  readonly #listeners: ((voiceId: string) => void)[] = [];
  /** The id of the voice that was chosen as the default; undefined where none was. */
  chosen: string | undefined;

  constructor(voices: Iterable<StoredVoice> = []) {
    for (const voice of voices) this.put(voice.voiceId, voice);
  }

  get all(): ReadonlyMap<string, StoredVoice> {
    return this.#voices;
  }

  /** Undefined removes the voice. */
  put(voiceId: string, voice: StoredVoice | undefined): void {
    if (voice) this.#voices.set(voiceId, voice);
    else this.#voices.delete(voiceId);
    for (const listener of this.#listeners) listener(voiceId);
  }

  /** Gives the alias to the voice; undefined removes it. */
  name(alias: string, ownerId: string, voiceId: string | undefined): void {
    const key = `${ownerId} ${alias}`;
    const before = this.#named.get(key) ?? '';
    const names = this.#names.get(before);
    names?.delete(key);
    if (names?.size === 0) this.#names.delete(before);
    if (voiceId === undefined) return void this.#named.delete(key);
    this.#named.set(key, voiceId);
    this.#names.set(voiceId, (this.#names.get(voiceId) ?? new Set()).add(key));
  }

  /** The id of the voice with the alias of that account, or of everyone. */
  findNamed(alias: string, ownerId = ofEveryone): string | undefined {
    return this.#named.get(`${ownerId} ${alias}`);
  }

  aliasesOf(voiceId: string): string[] {
    const keys = [...(this.#names.get(voiceId) ?? [])];
    return [...new Set(keys.map((key) => key.slice(key.indexOf(' ') + 1)))].sort();
  }

  onChange(listener: (voiceId: string) => void): void {
    this.#listeners.push(listener);
  }
}
