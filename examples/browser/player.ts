// Plays bare samples (signed 16-bit, little-endian, one channel) by Web Audio, each piece right after the one before.

/** How far ahead of now the first sound is planned: the pieces after it may come this late. */
const leadSeconds = 0.1;

export interface Player {
  play(piece: Uint8Array): void;
  /** How much it was given. */
  readonly seconds: number;
  /** How much of that has been played. */
  readonly playedSeconds: number;
}

/** Silent once the signal aborts. */
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
      // What is ahead is in one piece: where sound has come too late, all before it was played.
      const aheadSeconds = endSeconds - context.currentTime + (context.outputLatency || 0);
      return Math.min(seconds, Math.max(0, seconds - Math.max(0, aheadSeconds)));
    },
  };
}
