// Detects when a caller starts and stops speaking, from the loudness of u-law, which is enough for an example. A speech
// recognizer or voice activity detector, which an agent usually has, is more accurate.
export class CallerVoice {
  #isSpeaking = false;
  /** For how long the loudness has contradicted `#isSpeaking`. */
  #changedMs = 0;

  /** Takes the caller's next audio. Returns the change that it shows, if any. */
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
/** Loudness from which the caller speaks, relative to a full scale of 32768. */
const loudRms = 1000;

function rmsOf(audio: Buffer): number {
  let sum = 0;
  for (const byte of audio) sum += fromUlaw(byte) ** 2;
  return Math.sqrt(sum / Math.max(1, audio.length));
}

/** Converts a byte of u-law to a 16-bit sample (ITU-T G.711). */
export function fromUlaw(byte: number): number {
  const bits = ~byte & 0xff;
  const magnitude = (((bits & 0x0f) << 3) + 0x84) << ((bits & 0x70) >> 4);
  return bits & 0x80 ? 0x84 - magnitude : magnitude - 0x84;
}
