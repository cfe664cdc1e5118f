// Reports whether this installation made an audio file, and whether the file is unchanged. Stored audio is recognised by
// its fingerprint while its row exists. Files are read in a worker thread, one at a time and with a time limit, so that
// no file blocks the event loop. Accounts take turns.
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { encodeSilence, type FormatName, readFileHead } from '../../audio.ts';
import { Failure, invalidField } from '../../platform/errors.ts';
import { Host } from '../../platform/runtime/host.ts';
import { SlotQueue } from '../../platform/runtime/slot-queue.ts';
import { threadLink } from '../../platform/runtime/worker-links.ts';
import type { ClipRow, ClipRows } from '../clip-rows.ts';
import type { InspectingTask, Inspection } from './inspecting-thread.ts';

/** Each waiting file takes up to 32 MiB of memory. */
const waitingMax = 8;
/** Includes the start of the thread. Inspecting the largest upload takes a fraction of a second. */
const inspectMsMax = 10_000;

const busy = () => new Failure('overloaded', { retryAfterSeconds: 1 });
const slots = new SlotQueue({ slotsMax: 1, waitingMax, refusal: busy });
const thread = {
  file: new URL('./inspecting-thread.ts', import.meta.url),
  data: Promise.resolve(),
  isBackground: false,
};
const host = new Host<InspectingTask, Inspection>({
  open: () => threadLink(thread),
  workersMax: 1,
  startMsMax: inspectMsMax,
  stopMsMax: 0,
  idleMsMax: 60_000,
});

interface Inspected extends Omit<InspectingTask, 'file'> {
  file: Uint8Array;
  /** The account that waits. */
  owner: string;
}

export async function inspectFile({ file, owner, ...rest }: Inspected, signal: AbortSignal): Promise<Inspection> {
  const release = await slots.take({ signal, owner });
  const late = AbortSignal.timeout(inspectMsMax);
  try {
    const shared = new SharedArrayBuffer(file.length);
    new Uint8Array(shared).set(file);
    const pieces = host.run({ file: shared, ...rest }, AbortSignal.any([signal, late]));
    return (await Array.fromAsync(pieces))[0]!;
  } catch (error) {
    if (signal.aborted) throw error;
    throw late.aborted ? busy() : new Failure('internal_error', {}, error);
  } finally {
    release();
  }
}

interface AskedFile extends Pick<Inspected, 'file' | 'beside'> {
  /** The id of the audio, if it is known; else empty. */
  audioId: string;
  /** The account that asks, which sees its own ids only. Default: ids of all accounts are reported. */
  accountId?: string | undefined;
}

/** `readOwn` returns the certificates of this installation, in DER. */
export const createInspect =
  (readOwn: () => Promise<readonly Uint8Array[]>, records?: Pick<ClipRows, 'find' | 'findByFingerprint'>) =>
  async ({ file, beside, audioId, accountId }: AskedFile, signal: AbortSignal) => {
    const inspection = await inspectFile({ file, beside, own: await readOwn(), owner: accountId ?? '' }, signal);
    const { playback, ...inspected } = inspection;
    const { format, fingerprint, manifest } = inspected;
    const named = audioId === '' ? undefined : await records?.find(audioId);
    // Audio from earlier versions has no fingerprint, so changes cannot be detected.
    const clip =
      (named?.fingerprint ? named : undefined) ??
      (fingerprint ? await records?.findByFingerprint(fingerprint, accountId) : undefined);
    if (!format && !clip) {
      const message = 'must be a complete WAV, MP3, FLAC or Ogg Opus file, or raw audio that this service stored';
      throw invalidField('file', 'format', message);
    }
    const isOwn = accountId === undefined || (clip && (clip.accountId ?? clip.ownerId) === accountId);
    const matches = clip !== undefined && clip.fingerprint === fingerprint && (await isPlayedAs(clip, playback));
    return {
      ...inspected,
      authentic: matches || (manifest?.valid ?? false),
      record: clip && {
        matches,
        audioId: isOwn ? clip.clipId : '',
        voiceId: clip.voiceId,
        ...(isOwn && { createdAt: timestampFromMs(clip.createdAtMs) }),
      },
    };
  };

/** Whether players read the audio of a file as that of the clip. Raw audio may have been given the header of a WAV. */
async function isPlayedAs({ format, sampleRateHz }: ClipRow, playback: string | undefined): Promise<boolean> {
  if (playback === undefined) return true;
  const written = await encodeSilence(format === 'pcm' ? 'wav' : (format as FormatName), sampleRateHz, 0);
  const own = readFileHead(Buffer.from(written))?.playback;
  return own === undefined || own === playback;
}
