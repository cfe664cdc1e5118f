// Plays samples as they come, at their own rate, so that nothing is resampled and nothing stands between two pieces. What
// was pushed is kept, and so any place in it can be gone back to.
import { SoundLine } from './sound-line.js';

/**
 * @typedef {object} PlayerOptions
 * @property {number} sampleRateHz
 * @property {() => void} onFirstSample Once, when the first sample is rendered.
 * @property {() => void} onOver When all was played.
 *
 * @typedef {{ post(message: object): void, close(): void }} Output
 */

/** @typedef {ReturnType<typeof createPlayer>} Player */

/**
 * A context that is ready to play: made at the first touch of a page, it costs no time when something is to be heard.
 * @param {number} sampleRateHz
 */
export function createSoundContext(sampleRateHz) {
  const context = new AudioContext({ sampleRate: sampleRateHz, latencyHint: 'interactive' });
  // Pages that did not come by TLS, nor from this machine, have no worklets.
  const worklet = context.audioWorklet?.addModule(new URL('sound-worklet.js', import.meta.url).href);
  return { context, ready: worklet ?? Promise.resolve() };
}

/**
 * @param {ReturnType<typeof createSoundContext>} sound
 * @param {PlayerOptions} options
 */
export function createPlayer({ context, ready }, { sampleRateHz, onFirstSample, onOver }) {
  /** @type {Int16Array<ArrayBuffer>[]} */
  const pieces = [];
  let pushed = 0;
  let isComplete = false;
  let hasSounded = false;
  /** The context is shared with who plays next, and must not be woken by who does not play any more. */
  let isWanted = false;
  let isClosed = false;
  let from = 0;
  let number = 0;
  /** @type {SoundReport} */
  let last = { number, played: 0, underruns: 0, checksum: 0, isDry: true, isOver: false, time: 0 };
  let underrunsBefore = 0;
  /** @type {Output | undefined} */
  let output;

  /** @param {SoundReport} report */
  const take = (report) => {
    if (isClosed || report.number !== number) return;
    last = report;
    if (!hasSounded && report.played > 0) {
      hasSounded = true;
      onFirstSample();
    }
    if (report.isOver) {
      void context.suspend();
      onOver();
    }
  };
  const opened = ready.then(() => {
    if (isClosed) return;
    output = context.audioWorklet ? openWorklet(context, take) : openScript(context, take);
    begin();
  });

  /** Sends what there is from `from` on. */
  const begin = () => {
    underrunsBefore += last.underruns;
    last = {
      ...last,
      number: ++number,
      played: 0,
      underruns: 0,
      isDry: true,
      isOver: false,
      time: context.currentTime,
    };
    output?.post({ begin: number });
    let at = 0;
    for (const piece of pieces) {
      const skipped = Math.max(0, from - at);
      at += piece.length;
      if (skipped < piece.length) output?.post({ samples: skipped > 0 ? piece.slice(skipped) : piece });
    }
    if (isComplete) output?.post({ isLast: true });
  };
  const seconds = () => {
    const passed = last.isDry || last.isOver ? 0 : context.currentTime - last.time - (context.outputLatency || 0);
    const samples = from + Math.max(0, last.played + passed * sampleRateHz);
    return Math.min(samples, pushed) / sampleRateHz;
  };

  return {
    /** @param {Int16Array<ArrayBuffer>} samples */
    push(samples) {
      pieces.push(samples);
      pushed += samples.length;
      output?.post({ samples });
    },
    /** All was pushed. */
    complete() {
      isComplete = true;
      output?.post({ isLast: true });
    },
    /** Fails where the browser lets nothing be heard. */
    async play() {
      isWanted = true;
      await opened;
      if (!isWanted) return;
      if (last.isOver) {
        from = 0;
        begin();
      }
      await context.resume();
    },
    pause() {
      isWanted = false;
      return context.suspend();
    },
    /**
     * Plays on from there, behind the end too, unless it was paused.
     * @param {number} toSeconds
     */
    async seek(toSeconds) {
      from = Math.round(Math.min(Math.max(toSeconds * sampleRateHz, 0), pushed));
      begin();
      if (isWanted) await context.resume();
    },
    get isPlaying() {
      return !isClosed && context.state === 'running' && !last.isOver;
    },
    /** Where the ear is. */
    get seconds() {
      return seconds();
    },
    get pushedSeconds() {
      return pushed / sampleRateHz;
    },
    /** All samples that came, as one. */
    samples() {
      const all = new Int16Array(pushed);
      let at = 0;
      for (const piece of pieces) {
        all.set(piece, at);
        at += piece.length;
      }
      return all;
    },
    /** What was rendered since the last place that was gone to. */
    get report() {
      return { ...last, underruns: underrunsBefore + last.underruns };
    },
    async close() {
      [isClosed, isWanted] = [true, false];
      await context.suspend().catch(() => {});
      output?.close();
    },
  };
}

/**
 * @param {AudioContext} context
 * @param {(report: SoundReport) => void} take
 * @returns {Output}
 */
function openWorklet(context, take) {
  const node = new AudioWorkletNode(context, 'sonant-sound', { numberOfInputs: 0, outputChannelCount: [1] });
  node.port.onmessage = ({ data }) => take(data);
  node.connect(context.destination);
  return {
    post: (message) => node.port.postMessage(message),
    close: () => node.disconnect(),
  };
}

/**
 * The same in the page itself, for where there are no worklets.
 * @param {AudioContext} context
 * @param {(report: SoundReport) => void} take
 * @returns {Output}
 */
function openScript(context, take) {
  const node = context.createScriptProcessor(2048, 0, 1);
  let line = new SoundLine(context.sampleRate);
  let number = 0;
  let wasOver = false;
  node.onaudioprocess = ({ outputBuffer, playbackTime }) => {
    const out = outputBuffer.getChannelData(0);
    line.render(out);
    const { played, underruns, checksum, isDry, isOver } = line;
    const time = playbackTime + outputBuffer.duration;
    if (played > 0 && !wasOver) take({ number, played, underruns, checksum, isDry, isOver, time });
    wasOver = isOver;
  };
  node.connect(context.destination);
  return {
    post(/** @type {{ begin?: number, samples?: Int16Array, isLast?: boolean }} */ { begin, samples, isLast }) {
      if (begin !== undefined) {
        line = new SoundLine(context.sampleRate);
        number = begin;
        wasOver = false;
      }
      if (samples) line.push(samples);
      if (isLast) line.end();
    },
    close: () => node.disconnect(),
  };
}
