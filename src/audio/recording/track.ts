// Collects the output of a decoder: the mean of all channels, at one rate. Fails if the audio is longer than
// `secondsMax` or has an implausible rate or number of channels, so that a file cannot exhaust memory.
import { join } from '../../platform/pcm.ts';

/** A decoded recording: mono, full scale at +-1, at its own rate. */
export interface Recording {
  samples: Float32Array;
  sampleRateHz: number;
}

/** Thrown if a recording cannot be read. The message is a predicate: "is ...", "lasts ...". */
export class RecordingFault extends Error {
  readonly reason: 'audio_decode' | 'audio_too_long';

  constructor(reason: RecordingFault['reason'], message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'RecordingFault';
    this.reason = reason;
  }
}

export const unreadable = (message: string, cause?: unknown): RecordingFault =>
  new RecordingFault('audio_decode', message, cause);

const channelsMax = 8;
const sampleRateHzMin = 1_000;
const sampleRateHzMax = 192_000;

/** Checks the number of channels and the rate in a header before memory is allocated. */
export function refuseOddShape(channels: number, sampleRateHz: number): void {
  if (!(channels >= 1 && channels <= channelsMax))
    throw unreadable(`has ${channels} channels; 1 to ${channelsMax} are supported`);
  if (!(sampleRateHz >= sampleRateHzMin && sampleRateHz <= sampleRateHzMax))
    throw unreadable(`has an invalid sample rate of ${sampleRateHz} Hz`);
}

export class Track {
  readonly #secondsMax: number;
  #pieces: Float32Array<ArrayBuffer>[] = [];
  #length = 0;
  #sampleRateHz: number | undefined;

  constructor({ secondsMax }: { secondsMax: number }) {
    this.#secondsMax = secondsMax;
  }

  /** Number of samples so far. */
  get length(): number {
    return this.#length;
  }

  /** Adds samples. All channels have an equal number of samples, with full scale at +-1. */
  add(channels: readonly Float32Array[], sampleRateHz: number): void {
    const length = channels[0]?.length ?? 0;
    if (length === 0) return;
    refuseOddShape(channels.length, sampleRateHz);
    this.#sampleRateHz ??= sampleRateHz;
    if (sampleRateHz !== this.#sampleRateHz) throw unreadable('changes its sample rate in the middle');
    this.#length += length;
    if (this.#length > this.#secondsMax * sampleRateHz)
      throw new RecordingFault('audio_too_long', `lasts more than ${this.#secondsMax} seconds`);
    this.#pieces.push(meanOf(channels));
  }

  end(): Recording {
    if (this.#sampleRateHz === undefined) throw unreadable('contains no audio');
    return { samples: join(Float32Array, this.#pieces), sampleRateHz: this.#sampleRateHz };
  }
}

function meanOf(channels: readonly Float32Array[]): Float32Array<ArrayBuffer> {
  const mean = new Float32Array(channels[0]!.length);
  for (const channel of channels) for (let i = 0; i < mean.length; i++) mean[i]! += channel[i]! / channels.length;
  if (!mean.every(Number.isFinite)) throw unreadable('is damaged: some of its samples are not numbers');
  return mean;
}
