// Tells when a caller begins and ends to speak, by the loudness of u-law: enough for an example. A speech recognizer or a
// detector of voice activity, which an agent has anyway, tells it better.
export class CallerVoice {
  #isSpeaking = false;
  /** For how long it has been otherwise than `#isSpeaking` says. */
  #changedMs = 0;

  /** The next audio of the caller. */
  hear(audio: Buffer): 'begins' | 'ends' | undefined {
    const isLoud = rmsOf(audio) > loudRms;
    this.#changedMs = isLoud === this.#isSpeaking ? 0 : this.#changedMs + audio.length / bytesPerMs;
    if (this.#changedMs < (this.#isSpeaking ? endsAfterMs : beginsAfterMs)) return undefined;
    this.#changedMs = 0;
    this.#isSpeaking = isLoud;
    return isLoud ? 'begins' : 'ends';
  }
}

const bytesPerMs = 8;
const beginsAfterMs = 100;
const endsAfterMs = 600;
/** Of 32768. */
const loudRms = 1000;

function rmsOf(audio: Buffer): number {
  let sum = 0;
  for (const byte of audio) sum += fromUlaw(byte) ** 2;
  return Math.sqrt(sum / Math.max(1, audio.length));
}

/** A sample of 16 bits: ITU-T G.711. */
export function fromUlaw(byte: number): number {
  const bits = ~byte & 0xff;
  const magnitude = (((bits & 0x0f) << 3) + 0x84) << ((bits & 0x70) >> 4);
  return bits & 0x80 ? 0x84 - magnitude : magnitude - 0x84;
}
