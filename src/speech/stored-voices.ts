// Keeps the stored voices in memory, with their aliases (shared or private to an account) and the chosen default voice.
// Listeners receive the id of each changed voice, so that the cost of a change does not depend on the number of voices.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Blend, Voice } from '../engines.ts';
import { Failure } from '../platform/errors.ts';
import type { VoiceAccess } from './fields.ts';

export type VoiceStatus = 'pending' | 'ready' | 'failed' | 'disabled' | 'consent_revoked';

/** The parts of a stored voice that speech needs. */
export interface StoredVoice {
  voiceId: string;
  name: string;
  description: string;
  kind: Voice['kind'];
  status: VoiceStatus;
  languageCodes: readonly string[];
  labels: Readonly<Record<string, string>>;
  /** Version, which changes whenever the bindings change. */
  version: string;
  /** Bindings, best first. */
  bindings: readonly StoredBinding[];
  consent: VoiceConsent | undefined;
  /** Account of the owner; undefined for the operator's voices. */
  ownerId: string | undefined;
  access: VoiceAccess;
  /** Lexicons used by every request that speaks with the voice. */
  lexiconIds: readonly string[];
  createdAt: Date;
  updatedAt: Date;
  /** Aborts with a Failure when the voice may no longer be used. */
  ended: AbortSignal;
}

/** The engine side of a stored voice: a voice of the engine, a blend of its voices, or a clone. */
type StoredBinding =
  | { engine: string; speakerId: string }
  | { engine: string; blend: Blend }
  | { engine: string; gainDb: number; languageCodes: readonly string[]; openClone(): Promise<Uint8Array> };

/** A person's consent. */
interface VoiceConsent {
  speakerName: string;
  statement: string;
  languageCode: string;
  /** SHA-256 of the recording, in hexadecimal. */
  audioSha256: string;
  givenAt: Date;
  /** The actor that confirmed the consent, such as "key:key_01J...". */
  confirmedBy: string;
  revokedAt: Date | undefined;
}

/** The owner that is stored for a shared alias, which belongs to no account. */
export const ofEveryone = '';

export class StoredVoices {
  readonly #voices = new Map<string, StoredVoice>();
  /** Voice ids by owner and alias. The voice of an id may no longer exist. */
  readonly #named = new Map<string, string>();
  /** Keys of `#named` by voice id. */
  readonly #names = new Map<string, Set<string>>();
  readonly #listeners: ((voiceId: string) => void)[] = [];
  /** Id of the chosen default voice; undefined if none was chosen. */
  chosen: string | undefined;

  constructor(voices: Iterable<StoredVoice> = []) {
    for (const voice of voices) this.put(voice.voiceId, voice);
  }

  get all(): ReadonlyMap<string, StoredVoice> {
    return this.#voices;
  }

  /** Stores the voice, or removes it if `voice` is undefined. */
  put(voiceId: string, voice: StoredVoice | undefined): void {
    if (voice) this.#voices.set(voiceId, voice);
    else this.#voices.delete(voiceId);
    for (const listener of this.#listeners) listener(voiceId);
  }

  /** Assigns the alias to the voice, or removes the alias if `voiceId` is undefined. */
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

  /** Returns the id of the voice to which `ownerId` has given this alias. */
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

// Finds voices and lexicons in local copies of tables that other processes change. A lookup that misses a name reads
// the changes and is repeated, so that all replicas find a voice that one replica has created.

/** Calls `find`. If `find` misses a name, reads the changes of other processes and calls `find` again. */
export type FindCurrent = <T>(find: () => T | Promise<T>) => Promise<T>;

/** Shortest interval between two reads, however many unknown names are requested. */
const readEveryMs = 20;

function isMiss(error: unknown): boolean {
  if (!(error instanceof Failure)) return false;
  return [error, ...(error.facts.details ?? [])].some(({ reason }) => /^(voice_)?not_found$/.test(reason));
}

export function createFindCurrent(readChanges: () => Promise<unknown>): FindCurrent {
  let lastMs = -Infinity;
  let next: Promise<unknown> | undefined;
  const begin = async () => {
    await sleep(Math.max(0, lastMs + readEveryMs - performance.now()));
    // A miss after this point needs another read, because this read does not see later changes.
    next = undefined;
    lastMs = performance.now();
    await readChanges();
  };
  return async (find) => {
    try {
      return await find();
    } catch (error) {
      if (!isMiss(error)) throw error;
    }
    next ??= begin();
    await next;
    return find();
  };
}
