// Plays raw samples (signed 16-bit, little-endian, one channel) with Web Audio, each piece directly after the previous.

/** Delay before playback starts. Later pieces may be late by this much. */
const leadSeconds = 0.1;

export interface Player {
  play(piece: Uint8Array): void;
  /** Duration of the audio that the player has received. */
  readonly seconds: number;
  /** Duration of the audio that was played. */
  readonly playedSeconds: number;
}

/** Opens a player that becomes silent when the signal aborts. */
export function openPlayer(sampleRateHz: number, signal: AbortSignal): Player {
  const context = new AudioContext({ sampleRate: sampleRateHz });
  signal.addEventListener('abort', () => void context.close());
  let endSeconds = 0;
  let seconds = 0;
  let odd = new Uint8Array();
  return {
    play(piece) {
      // A piece may end in the middle of a sample.
      const bytes = new Uint8Array([...odd, ...piece]);
      const count = bytes.length >> 1;
      odd = bytes.slice(2 * count);
      if (count === 0) return;

      const buffer = context.createBuffer(1, count, sampleRateHz);
      const view = new DataView(bytes.buffer);
      const samples = buffer.getChannelData(0);
      for (let i = 0; i < count; i++) samples[i] = view.getInt16(2 * i, true) / 32_768;

      const source = new AudioBufferSourceNode(context, { buffer });
      source.connect(context.destination);
      const isLate = endSeconds <= context.currentTime;
      const start = isLate ? context.currentTime + leadSeconds : endSeconds;
      source.start(start);
      endSeconds = start + buffer.duration;
      seconds += buffer.duration;
    },
    get seconds() {
      return seconds;
    },
    get playedSeconds() {
      // Audio still to be played has no gaps: a late piece starts only after all earlier audio was played.
      const aheadSeconds = endSeconds - context.currentTime + (context.outputLatency || 0);
      return Math.min(seconds, Math.max(0, seconds - Math.max(0, aheadSeconds)));
    },
  };
}
