// The waveform of streaming audio, drawn as bars and coloured up to the playback position. The waveform is also a
// slider: clicking, dragging and the arrow keys seek.
import { element } from './element.js';

/** Bar width, gap width and minimum bar height in CSS pixels. */
const [barWidth, gapWidth, barHeightMin] = [3, 2, 3];
const samplesPerPeak = 256;
/** Lower bound of the vertical scale, so that near silence is not drawn loud. */
const loudestMin = 8_000;
/** Fraction of the remaining scale change that each animation frame applies. */
const easing = 0.18;

/**
 * @typedef {object} WaveformState
 * @property {number[]} peaks The lowest and the highest sample of each block, alternating.
 * @property {number} sampleRateHz
 * @property {number} sampleCount
 * @property {number} loudest
 * @property {number} seconds The playback position.
 * @property {number} expectedSeconds
 * @property {number} shownSeconds The duration that the width represents; eases towards the expected duration.
 * @property {number} shownLoudest The amplitude that the height represents; eases towards the loudest sample.
 */

/**
 * @param {object} options
 * @param {number} options.sampleRateHz
 * @param {(seconds: number) => void} options.onSeek
 */
export function createWaveform({ sampleRateHz, onSeek }) {
  const canvas = element('canvas', {});
  const root = element(
    'div',
    { class: 'waveform', role: 'slider', tabindex: 0, 'aria-label': 'Playback position', 'aria-valuemin': 0 },
    canvas,
  );
  const isReducedMotion = matchMedia('(prefers-reduced-motion: reduce)').matches;
  /** @type {WaveformState} */
  const state = {
    peaks: [],
    sampleRateHz,
    sampleCount: 0,
    loudest: loudestMin,
    seconds: 0,
    expectedSeconds: 0,
    shownSeconds: 0,
    shownLoudest: loudestMin,
  };
  addSeeking(root, state, onSeek);

  return {
    root,
    /** @param {Int16Array} samples */
    add(samples) {
      const { peaks } = state;
      for (const sample of samples) {
        const at = 2 * Math.floor(state.sampleCount++ / samplesPerPeak);
        peaks[at] = Math.min(peaks[at] ?? 0, sample);
        peaks[at + 1] = Math.max(peaks[at + 1] ?? 0, sample);
        state.loudest = Math.max(state.loudest, Math.abs(sample));
      }
    },
    /** Sets the estimated total duration. @param {number} seconds */
    expect(seconds) {
      state.expectedSeconds = seconds;
    },
    /**
     * Draws one frame.
     * @param {number} seconds The playback position.
     * @returns Whether the scale is still changing.
     */
    draw(seconds) {
      const { loudest, shownSeconds, shownLoudest } = state;
      const available = toSeconds(state);
      const target = Math.max(state.expectedSeconds, available);
      const isNear = isReducedMotion || shownSeconds === 0 || Math.abs(target - shownSeconds) < target / 500;
      state.seconds = seconds;
      state.shownSeconds = isNear ? target : shownSeconds + (target - shownSeconds) * easing;
      state.shownLoudest = isNear ? loudest : shownLoudest + (loudest - shownLoudest) * easing;
      paint(root, canvas, state);
      root.setAttribute('aria-valuemax', available.toFixed(1));
      root.setAttribute('aria-valuenow', seconds.toFixed(1));
      root.setAttribute('aria-valuetext', `${seconds.toFixed(1)} of ${available.toFixed(1)} seconds`);
      return state.shownSeconds !== target;
    },
  };
}

/** @param {WaveformState} state */
const toSeconds = ({ sampleCount, sampleRateHz }) => sampleCount / sampleRateHz;

/**
 * @param {HTMLElement} root
 * @param {WaveformState} state
 * @param {(seconds: number) => void} onSeek
 */
function addSeeking(root, state, onSeek) {
  /** @param {PointerEvent} event */
  const seekToPointer = ({ clientX }) => {
    const { left, width } = root.getBoundingClientRect();
    onSeek(Math.min((Math.max(0, clientX - left) / width) * state.shownSeconds, toSeconds(state)));
  };
  root.addEventListener('pointerdown', (event) => {
    if (state.sampleCount === 0 || event.button !== 0) return;
    root.setPointerCapture(event.pointerId);
    seekToPointer(event);
  });
  root.addEventListener('pointermove', (event) => root.hasPointerCapture(event.pointerId) && seekToPointer(event));
  root.addEventListener('keydown', (event) => {
    const { seconds, sampleCount } = state;
    const end = toSeconds(state);
    const step = event.shiftKey ? 5 : 1;
    const to = { ArrowLeft: seconds - step, ArrowRight: seconds + step, Home: 0, End: end }[event.key];
    if (to === undefined || sampleCount === 0) return;
    event.preventDefault();
    onSeek(Math.min(Math.max(to, 0), end));
  });
}

/**
 * @param {HTMLElement} root
 * @param {HTMLCanvasElement} canvas
 * @param {WaveformState} state
 */
function paint(root, canvas, { peaks, sampleRateHz, seconds, shownSeconds, shownLoudest }) {
  const { clientWidth: width, clientHeight: height } = root;
  const scale = devicePixelRatio;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const context = canvas.getContext('2d');
  if (!context) return;
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  const style = getComputedStyle(root);
  const [played, unplayed, pending] = ['--wave-played', '--wave', '--wave-pending'].map((name) =>
    style.getPropertyValue(name),
  );
  const step = barWidth + gapWidth;
  const count = Math.floor((width + gapWidth) / step);
  const peaksPerBar = ((shownSeconds || 1) * sampleRateHz) / samplesPerPeak / count;
  const playheadX = shownSeconds > 0 ? (seconds / shownSeconds) * width : 0;
  const middle = height / 2;
  for (let i = 0; i < count; i++) {
    const { low, high, isAvailable } = toBar(peaks, i * peaksPerBar, (i + 1) * peaksPerBar);
    const top = (high / shownLoudest) * middle;
    const bottom = (-low / shownLoudest) * middle;
    const barHeight = Math.max(barHeightMin, top + bottom);
    context.fillStyle = (!isAvailable ? pending : i * step < playheadX ? played : unplayed) || 'gray';
    context.beginPath();
    context.roundRect(i * step, Math.min(middle - top, middle - barHeightMin / 2), barWidth, barHeight, barWidth / 2);
    context.fill();
  }
  if (seconds > 0) {
    context.fillStyle = played || 'gray';
    context.fillRect(Math.min(playheadX, width - 1.5), 0, 1.5, height);
  }
}

/**
 * The extent of one bar: the mean of its extreme and average peaks. Extremes alone would draw all bars of a long text
 * equally high.
 * @param {readonly number[]} peaks
 * @param {number} from
 * @param {number} to
 */
function toBar(peaks, from, to) {
  let [lowest, highest, lowSum, highSum] = [0, 0, 0, 0];
  const first = Math.floor(from);
  const last = Math.min(Math.max(first + 1, Math.floor(to)), peaks.length / 2);
  for (let i = first; i < last; i++) {
    const [low, high] = [peaks[2 * i] ?? 0, peaks[2 * i + 1] ?? 0];
    lowest = Math.min(lowest, low);
    highest = Math.max(highest, high);
    lowSum += low;
    highSum += high;
  }
  const count = Math.max(1, last - first);
  return { low: (lowest + lowSum / count) / 2, high: (highest + highSum / count) / 2, isAvailable: first < last };
}
