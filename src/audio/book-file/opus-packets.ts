// The packets that the Opus encoder writes (ogg-opus.ts): how many for so much sound.

const packetsPerSecond = 50;
export const opusRateHz = 48_000;
/** The encoder's delay, at 48 kHz, which every file of it declares. */
export const opusSkippedSamples = 312;

export const opusPacketSamples = (rateHz: number): number => rateHz / packetsPerSecond;

export const opusPacketCount = (sampleCount: number, rateHz: number): number =>
  Math.ceil((sampleCount + (opusSkippedSamples * rateHz) / opusRateHz) / opusPacketSamples(rateHz));
