// Stores each spoken segment of a chapter in a clip of raw 16-bit samples, so that the next worker continues at the
// first missing segment. Stored segments are reused unchanged. If the text, the voice or the boundaries of a segment
// have changed, the segment is spoken again, but only charged again after its chapter was done. Nothing is stored for a
// voice that may no longer be used.
import { createHash } from 'node:crypto';
import type { SpokenPcm, WordTime } from '../../engines.ts';
import { cutText } from '../../platform/count-chars.ts';
import { toFailure } from '../../platform/errors.ts';
import { joinPcm, samplesOf, secondsOf } from '../../platform/pcm.ts';
import { createId } from '../../platform/runtime/id.ts';
import type { PlannedCut, Speech } from '../../speech.ts';
import { readFile, storeFile } from '../beside-audio.ts';
import type { ClipStore } from '../stores/clip-store.ts';
import { chapterLeaseMs, faultTextCharsMax } from './job-limits.ts';
import type { ChapterRow, JobRows } from './job-rows.ts';
import { askedAgain, type SegmentRow } from './job-segment-rows.ts';
import { removeSegmentsOfVoice } from './job-sweep.ts';

export interface KeepSegmentsOptions {
  /**
   * The chapter. Segments that no voice speaks, such as dots, count as segments of its voice. It has audio if it was done
   * before, and a suspect is spoken again.
   */
  chapter: Pick<ChapterRow, 'jobKey' | 'chapter' | 'voiceId' | 'audioId'>;
  rows: Pick<JobRows, 'now' | 'findSegment' | 'addSegment' | 'countCharged' | 'deleteSegmentsOfVoice'>;
  clips: Pick<ClipStore, 'create' | 'open' | 'remove'>;
  holder: string;
  /** Charges characters to the quota. Throws if the remaining quota is smaller. */
  take(chars: number, signal: AbortSignal): Promise<Taken>;
  /** Start of a part in the chapter, in code points. */
  offsetOf(part: number): number;
  /** Whether a recognizer checks the segments. */
  isVerified: boolean;
}

export interface Taken {
  /** Id of the key that is charged. */
  keyId: string;
  /** Refunds the characters that were not spoken. */
  end(spokenChars: number): void;
}

/** Thrown if a segment cannot be spoken, or if its characters cannot be charged. */
export class SegmentFault extends Error {
  readonly offset: number;
  readonly text: string;

  constructor({ offset, text }: { offset: number; text: string }, cause: unknown) {
    super('segment not spoken', { cause });
    this.offset = offset;
    this.text = text;
  }
}

export function keepSegments(options: KeepSegmentsOptions): Parameters<Speech['speakKept']>[2]['keep'] {
  const { rows, clips, holder, take, offsetOf, isVerified } = options;
  const { jobKey, chapter, voiceId: chapterVoiceId, audioId } = options.chapter;
  const id = { jobKey, chapter };
  const countOwn = createCount();
  let next = 0;
  /** Progress up to the present segment. Segments are spoken one after the other. */
  const soFar = { chars: 0, seconds: 0, unchecked: 0 };
  let charged: Promise<number> | undefined;
  let sinceMs = performance.now();

  const { read, write } = openSegmentClips(clips);
  /** If the voice may no longer be used, removes its segments and throws. */
  const checkVoice = async ({ rendering }: PlannedCut): Promise<void> => {
    if (!rendering?.ended?.aborted) return;
    await removeSegmentsOfVoice({ rows, clips }, rendering.voice.voiceId);
    throw rendering.ended.reason;
  };
  const faultOf = (cut: PlannedCut, signal: AbortSignal) => async (error: unknown) => {
    await checkVoice(cut);
    signal.throwIfAborted();
    throw toSegmentFault(cut, offsetOf(cut.chunkIndex), error);
  };

  /** Counts a segment with audio. Returns its duration in the file, which is stretched by the tempo of the request. */
  const countSpoken = ({ rendering, check }: PlannedCut, spoken: SpokenPcm): number => {
    const seconds = secondsOf(spoken) / (rendering?.tempo ?? 1);
    soFar.seconds += seconds;
    if (isVerified && check?.wordErrors === undefined) soFar.unchecked++;
    return seconds;
  };

  return async function* keep(cut, speak, signal) {
    const segment = next++;
    const chars = countOwn(cut);
    soFar.chars += chars;
    const fingerprint = fingerprintOf(cut);
    const before = await rows.findSegment(id, segment);
    const isSame = before?.fingerprint === fingerprint;
    if (isSame && before.clipKey === null) return;
    const kept = isSame ? await read(before) : undefined;
    if (kept) {
      if (before?.report) cut.check = JSON.parse(before.report);
      countSpoken(cut, kept);
      return yield kept;
    }
    charged ??= rows.countCharged(id);
    // A caller may change a lexicon and have a suspect spoken again as often as they like, so all segments that differ
    // from the stored ones are charged again.
    const isCharged = segment >= (await charged) || (audioId !== null && before !== undefined && !isSame);
    const isAgain = before?.fingerprint === askedAgain;
    // The first piece of a very long word is charged for the whole word. If another piece is spoken again, that piece is
    // charged for its own characters.
    const charsAgain = chars || lengthOf(cut);
    const price = isAgain ? charsAgain : chars;
    const ownChars = isCharged ? price : 0;
    const takeOwn = () => take(ownChars, signal).catch(faultOf(cut, signal));
    (await takeOwn()).end(0);
    const spoken = cut.cut ? whole(await speak(isAgain).catch(faultOf(cut, signal))) : undefined;
    const clipKey = spoken ? await write(spoken) : null;
    const { check } = cut;
    const faults = check?.faults ?? [];
    const place = faults.length > 0 ? placeOf(cut, offsetOf(cut.chunkIndex)) : undefined;
    const voiceId = cut.rendering?.voice.voiceId ?? chapterVoiceId;
    const seconds = spoken ? countSpoken(cut, spoken) : 0;
    const busyMs = Math.round(performance.now() - sinceMs);
    sinceMs = performance.now();
    const words = JSON.stringify(spoken?.words ?? []);
    const report = check ? JSON.stringify(check) : null;
    const sampleRateHz = spoken?.sampleRateHz ?? 0;
    const row = { ...id, segment, fingerprint, voiceId, clipKey, sampleRateHz, words, report };
    const heard = faults.includes('words_differ') && { heard: cutText(check?.heard ?? '', faultTextCharsMax) };
    const suspect = place && { ...place, segment, chars: charsAgain, faults: [...faults], ...heard };
    // Storing a segment renews the lease of the chapter.
    const progress = { ...soFar, holder, leaseUntilMs: (await rows.now()) + chapterLeaseMs, busyMs, suspect };
    const taken = await takeOwn();
    let countedChars = 0;
    try {
      const audioMs = Math.round(seconds * 1000);
      const usage = isCharged ? { keyId: taken.keyId, voiceId, requests: 0, characters: price, audioMs } : undefined;
      // If this insert fails, the clip store's cleanup (`sweep`) later removes the clip.
      await rows.addSegment(row, { ...progress, usage });
      countedChars = ownChars;
    } finally {
      taken.end(countedChars);
    }
    if (before?.clipKey) await clips.remove(before.clipKey);
    await checkVoice(cut);
    if (spoken) yield spoken;
  };
}

/** Opens the clip store for segment audio. */
const openSegmentClips = (clips: KeepSegmentsOptions['clips']) => ({
  async read({ clipKey, sampleRateHz, words }: SegmentRow): Promise<SpokenPcm | undefined> {
    const bytes = clipKey === null ? undefined : await readFile(clips, clipKey);
    return bytes && { samples: samplesOf(bytes), sampleRateHz, words: JSON.parse(words) as WordTime[] };
  },
  async write({ samples }: SpokenPcm): Promise<string> {
    const clipKey = createId('seg');
    const bytes = new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength);
    await storeFile(clips, clipKey, 'application/octet-stream', [bytes]);
    return clipKey;
  },
});

/** Returns a function that counts the characters that a cut adds to its part. */
function createCount() {
  let part = -1;
  let before = 0;
  return ({ chunkIndex, charsBegun }: PlannedCut): number => {
    const own = Math.max(0, charsBegun - (chunkIndex === part ? before : 0));
    before = chunkIndex === part ? Math.max(before, charsBegun) : charsBegun;
    part = chunkIndex;
    return own;
  };
}

/** Returns a hash of the words of a segment, their positions, and everything else on which the audio depends. */
function fingerprintOf({ chunkIndex, cut, rendering }: PlannedCut): string {
  if (!cut || !rendering) return `${chunkIndex}`;
  const { binding, languageCode, engineRate, pitch, manner } = rendering;
  const { engine, voiceId, version } = binding.speaker;
  const facts = [chunkIndex, cut, engine, voiceId, version, languageCode, engineRate, pitch, ...Object.entries(manner)];
  return createHash('sha256').update(JSON.stringify(facts)).digest('base64url');
}

/** Joins the pieces; undefined if nothing was spoken. */
function whole(pieces: readonly SpokenPcm[]): SpokenPcm | undefined {
  const spoken = joinPcm(pieces);
  return spoken && { ...spoken, words: pieces.flatMap(({ words = [] }) => words) };
}

/** Number of characters from the first word of the segment to its last. */
function lengthOf({ cut }: PlannedCut): number {
  const [first, last] = [cut?.spans[0], cut?.spans.at(-1)];
  return first && last ? last.offset + last.length - first.offset : 0;
}

/** Where the text of the chapter has the words of a cut, and the first of them; undefined if it has none. */
function placeOf({ cut, chunk }: PlannedCut, partOffset: number): { offset: number; text: string } | undefined {
  const [first, last] = [cut?.spans[0], cut?.spans.at(-1)];
  if (!first || !last) return undefined;
  const said = [...chunk].slice(first.offset, last.offset + last.length);
  return { offset: partOffset + first.offset, text: said.slice(0, faultTextCharsMax).join('') };
}

function toSegmentFault(cut: PlannedCut, partOffset: number, error: unknown): Error {
  const place = placeOf(cut, partOffset);
  return place ? new SegmentFault(place, error) : toFailure(error);
}
