// Clones on servers that accept uploaded voices, such as vLLM-Omni and SGLang-Omni. The clone is the recording itself,
// which Sonant stores encrypted; the server has a copy under a random name. If the server lacks the copy, for example
// after a restart, the clone is uploaded again before it is spoken.
//     POST /v1/audio/voices, a form: name, consent, audio_sample (a WAV), ref_text       DELETE /v1/audio/voices/{name}
//     GET /v1/audio/voices   answers   {"voices": [names], "uploaded_voices": [{"name"}]}
import { randomBytes } from 'node:crypto';
import { toFloat, wavFile } from '../../audio.ts';
import { Failure, invalidField } from '../../platform/errors.ts';
import type { CloneSample, Cloning } from '../engine.ts';

export interface Recording {
  /** Random name of the voice on the servers, which does not reveal whose voice it is. */
  name: string;
  /** Transcript; empty if unknown. */
  text: string;
  /** A WAV file. */
  wav: Uint8Array<ArrayBuffer>;
}

const namePattern = /^sonant-[0-9a-f]{24}$/;
export const isCloneName = (name: string): boolean => namePattern.test(name);
/**
 * Time after which Sonant checks again that the server has a clone: some servers speak unknown names in another voice.
 */
const confirmedMsMax = 10_000;
const keptMs = 24 * 3_600_000;
const renewMs = keptMs / 2;

interface UploadOptions {
  reach(path: string, request: RequestInit, signal: AbortSignal): Promise<Response>;
  /** Returns the parsed list of voices. */
  list(signal: AbortSignal): Promise<unknown>;
  refusalOf(answer: Response, signal: AbortSignal): Promise<Failure>;
  /** Runs a search whose result several requests share. */
  found<T>(find: (signal: AbortSignal) => Promise<T>): Promise<T>;
  now(): number;
}

export function openUploads({ reach, list, refusalOf, found, now }: UploadOptions) {
  /** The time at which each clone was last known to be on the server. */
  const confirmed = new Map<string, number>();
  /** Segments that need the same clone wait for one upload. */
  const restoring = new Map<string, Promise<boolean>>();

  async function upload(recording: Recording, signal: AbortSignal, isAgain = false): Promise<void> {
    const { name, text, wav } = recording;
    const body = new FormData();
    body.set('name', name);
    body.set('consent', name);
    if (text !== '') body.set('ref_text', text);
    body.set('audio_sample', new Blob([wav], { type: 'audio/wav' }), `${name}.wav`);
    const answer = await reach('/audio/voices', { method: 'POST', body }, signal);
    if (!answer.ok) {
      const refusal = await refusalOf(answer, signal);
      const isThere = refusal.cause instanceof Error && /already exists/i.test(refusal.cause.message);
      if (!isThere || isAgain) throw refusal;
      await remove(name, signal);
      return upload(recording, signal, true);
    }
    await answer.body?.cancel();
    confirmed.set(name, now());
  }

  /**
   * Uploads the clone if necessary, and returns whether it was uploaded. If `isLost` is true, the server's list is
   * ignored, because it may contain clones that the server can no longer speak.
   */
  function restore(recording: Recording, isLost = false): Promise<boolean> {
    const key = `${recording.name} ${isLost}`;
    const running =
      restoring.get(key) ??
      found((signal) => restoreNow(recording, signal, isLost)).finally(() => restoring.delete(key));
    restoring.set(key, running);
    return running;
  }

  async function restoreNow(recording: Recording, signal: AbortSignal, isLost: boolean): Promise<boolean> {
    const there = isLost ? undefined : uploadedIn(await list(signal))?.find(({ name }) => name === recording.name);
    // An old copy is uploaded again, so that it is not deleted while it is used.
    const isFresh = there !== undefined && there.ageMs < renewMs;
    if (isFresh) confirmed.set(recording.name, now());
    else await upload(recording, signal);
    return !isFresh;
  }

  async function remove(name: string, signal: AbortSignal): Promise<void> {
    confirmed.delete(name);
    const answer = await reach(`/audio/voices/${name}`, { method: 'DELETE' }, signal);
    if (!answer.ok && answer.status !== 404) throw await refusalOf(answer, signal);
    await answer.body?.cancel();
  }

  return {
    upload,
    restore,
    remove,
    async ensure(recording: Recording): Promise<void> {
      const sinceMs = now() - (confirmed.get(recording.name) ?? -Infinity);
      if (sinceMs > confirmedMsMax) await restore(recording);
    },
    /** Deletes old copies. No replica uses these, because each replica renews the copies that it uses. */
    async sweep(uploaded: readonly UploadedVoice[], signal: AbortSignal): Promise<void> {
      const leftOver = uploaded.filter(({ name, ageMs }) => isCloneName(name) && ageMs > keptMs);
      // A copy that cannot be deleted now is listed and deleted the next time.
      for (const { name } of leftOver) await remove(name, signal).catch(() => {});
    },
    forgetAll: () => confirmed.clear(),
  };
}

/** A voice that was uploaded to a server: a clone or another voice. */
export interface UploadedVoice {
  name: string;
  /** Time since the upload; 0 if the server does not state it. */
  ageMs: number;
}

/** The uploaded voices in a list; undefined if the server does not accept uploaded voices. */
export function uploadedIn(list: unknown): UploadedVoice[] | undefined {
  const { uploaded_voices: voices } = (list ?? {}) as { uploaded_voices?: unknown };
  if (!Array.isArray(voices)) return undefined;
  return voices.flatMap((voice: { name?: unknown; created_at?: unknown } | null) => {
    const { name, created_at: seconds } = voice ?? {};
    const ageMs = typeof seconds === 'number' && seconds > 0 ? Date.now() - seconds * 1000 : 0;
    return typeof name === 'string' ? [{ name, ageMs }] : [];
  });
}

const version = 1;

/**
 * Format: u8 1 (version), u8 length of the name, u32 length of the text, name, text, WAV; numbers are little-endian.
 */
function packRecording({ name, text, wav }: Recording): Uint8Array {
  const said = Buffer.from(text);
  const head = Buffer.alloc(6);
  head[0] = version;
  head[1] = name.length;
  head.writeUInt32LE(said.length, 2);
  return new Uint8Array(Buffer.concat([head, Buffer.from(name), said, wav]));
}

/** Parses a clone. Throws `engine_error` if the bytes were not created by this engine. */
export function unpackRecording(packed: Uint8Array): Recording {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength);
  const textAt = 6 + (bytes[1] ?? 0);
  const wavAt = bytes.length < 6 ? 0 : textAt + bytes.readUInt32LE(2);
  const name = bytes.toString('utf8', 6, textAt);
  if (bytes[0] !== version || !isCloneName(name) || wavAt > bytes.length)
    throw new Failure('engine_error', {}, new Error('the bytes are not a clone of this engine'));
  return { name, text: bytes.toString('utf8', textAt, wavAt), wav: new Uint8Array(bytes.subarray(wavAt)) };
}

/** The servers accept 1 to 30 seconds; models use at most 15. */
const sampleSeconds = { min: 3, max: 15 };
const sampleRateHz = 24_000;
const textCharsMax = 500;

export interface CloningOptions {
  languageCodes: readonly string[];
  upload(recording: Recording, signal: AbortSignal): Promise<void>;
  forget(name: string): Promise<void>;
}

export const createUploadCloning = ({ languageCodes, upload, forget }: CloningOptions): Cloning => ({
  sampleLanguageCodes: languageCodes,
  languageCodesFor: () => languageCodes,
  sampleRateHz,
  sampleSeconds,
  needsReferenceText: false,
  consentScripts: {},
  async make({ reference, referenceText }: CloneSample, signal) {
    const text = referenceText.trim();
    if (text.length > textCharsMax) throw refuse('reference_text', `must be at most ${textCharsMax} characters`);
    const name = `sonant-${randomBytes(12).toString('hex')}`;
    const recording = { name, text, wav: wavFile(toFloat(reference.samples, 0), reference.sampleRateHz) };
    await upload(recording, signal).catch(async (error) => {
      // The server may have stored the clone despite the error.
      await forget(name);
      throw isOfSample(error) ? refuse('reference_audio', 'cannot be cloned; record clear speech', error.cause) : error;
    });
    return packRecording(recording);
  },
  forget: (clone) => forget(unpackRecording(clone).name),
});

const refuse = (field: string, message: string, cause?: unknown) => invalidField(field, 'format', message, cause);

/** Whether the server rejected the recording itself, rather than having too many voices. */
const isOfSample = (error: unknown): error is Failure =>
  error instanceof Failure &&
  error.cause instanceof Error &&
  /answers (400|413|422)/.test(error.cause.message) &&
  !/limit reached/i.test(error.cause.message);
