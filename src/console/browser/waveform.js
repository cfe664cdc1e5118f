// The picture of a sound that grows as it comes: bars from the lowest to the highest sample of their moment, those behind
// the playhead in colour. It is a slider too: a click, a drag or the arrow keys go to another moment.
import { element } from './element.js';

/** In units of CSS: a bar, the gap behind it, and the least height of a bar. */
const [barWidth, gapWidth, barHeightMin] = [3, 2, 3];
/** How many samples share a peak. */
const samplesPerPeak = 256;
/** What is quieter than this is not drawn larger than it is. */
const loudestMin = 8_000;
/** How much of the way to its new scale the picture goes in a frame. */
const easing = 0.18;

/** @typedef {ReturnType<typeof createWaveform>} Waveform */

/**
 * @param {object} options
 * @param {number} options.sampleRateHz
 * @param {(seconds: number) => void} options.onSeek
 */
export function createWaveform({ sampleRateHz, onSeek }) {
  const canvas = element('canvas', {});
  const root = element(
    'div',
    { class: 'waveform', role: 'slider', tabindex: 0, 'aria-label': 'Place in the sound', 'aria-valuemin': 0 },
    canvas,
  );
  const isCalm = matchMedia('(prefers-reduced-motion: reduce)').matches;
  /** Lowest and highest of each stretch, by turns. @type {number[]} */
  const peaks = [];
  let taken = 0;
  let seconds = 0;
  let expectedSeconds = 0;
  let shownSeconds = 0;
  let loudest = loudestMin;
  let shownLoudest = loudestMin;

  const madeSeconds = () => taken / sampleRateHz;

  /** @param {PointerEvent} event */
  const seekTo = ({ clientX }) => {
    const { left, width } = root.getBoundingClientRect();
    onSeek(Math.min((Math.max(0, clientX - left) / width) * shownSeconds, madeSeconds()));
  };
  root.addEventListener('pointerdown', (event) => {
    if (taken === 0 || event.button !== 0) return;
    root.setPointerCapture(event.pointerId);
    seekTo(event);
  });
  root.addEventListener('pointermove', (event) => root.hasPointerCapture(event.pointerId) && seekTo(event));
  root.addEventListener('keydown', (event) => {
    const step = event.shiftKey ? 5 : 1;
    const to = { ArrowLeft: seconds - step, ArrowRight: seconds + step, Home: 0, End: madeSeconds() }[event.key];
    if (to === undefined || taken === 0) return;
    event.preventDefault();
    onSeek(Math.min(Math.max(to, 0), madeSeconds()));
  });

  return {
    root,
    /** @param {Int16Array} samples */
    add(samples) {
      for (const sample of samples) {
        const at = 2 * Math.floor(taken++ / samplesPerPeak);
        peaks[at] = Math.min(peaks[at] ?? 0, sample);
        peaks[at + 1] = Math.max(peaks[at + 1] ?? 0, sample);
        loudest = Math.max(loudest, Math.abs(sample));
      }
    },
    /** How long it will be, as far as can be told. @param {number} willBe */
    expect(willBe) {
      expectedSeconds = willBe;
    },
    /** Draws it with the playhead there. @param {number} at */
    draw(at) {
      seconds = at;
      const target = Math.max(expectedSeconds, madeSeconds());
      const isNear = isCalm || shownSeconds === 0 || Math.abs(target - shownSeconds) < target / 500;
      shownSeconds = isNear ? target : shownSeconds + (target - shownSeconds) * easing;
      shownLoudest = isNear ? loudest : shownLoudest + (loudest - shownLoudest) * easing;
      paint();
      root.setAttribute('aria-valuemax', madeSeconds().toFixed(1));
      root.setAttribute('aria-valuenow', at.toFixed(1));
      root.setAttribute('aria-valuetext', `${at.toFixed(1)} of ${madeSeconds().toFixed(1)} seconds`);
      return shownSeconds !== target;
    },
  };

  function paint() {
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
    const [heard, unheard, toCome] = ['--wave-heard', '--wave', '--wave-to-come'].map((name) =>
      style.getPropertyValue(name),
    );
    const step = barWidth + gapWidth;
    const count = Math.floor((width + gapWidth) / step);
    const perBar = ((shownSeconds || 1) * sampleRateHz) / samplesPerPeak / count;
    const headX = shownSeconds > 0 ? (seconds / shownSeconds) * width : 0;
    const middle = height / 2;
    for (let i = 0; i < count; i++) {
      const { low, high, isThere } = reach(peaks, i * perBar, (i + 1) * perBar);
      const top = (high / shownLoudest) * middle;
      const bottom = (-low / shownLoudest) * middle;
      const bar = Math.max(barHeightMin, top + bottom);
      context.fillStyle = (!isThere ? toCome : i * step < headX ? heard : unheard) || 'gray';
      context.beginPath();
      context.roundRect(i * step, Math.min(middle - top, middle - barHeightMin / 2), barWidth, bar, barWidth / 2);
      context.fill();
    }
    if (seconds > 0) {
      context.fillStyle = heard || 'gray';
      context.fillRect(Math.min(headX, width - 1.5), 0, 1.5, height);
    }
  }
}

/**
 * How far the sound reaches down and up between two peaks: half by its extremes and half on the average, or else the bars
 * of a long text would all be as high.
 * @param {readonly number[]} peaks
 * @param {number} from
 * @param {number} to
 */
function reach(peaks, from, to) {
  let [lowest, highest, lows, highs] = [0, 0, 0, 0];
  const first = Math.floor(from);
  const last = Math.min(Math.max(first + 1, Math.floor(to)), peaks.length / 2);
  for (let i = first; i < last; i++) {
    const [low, high] = [peaks[2 * i] ?? 0, peaks[2 * i + 1] ?? 0];
    lowest = Math.min(lowest, low);
    highest = Math.max(highest, high);
    lows += low;
    highs += high;
  }
  const count = Math.max(1, last - first);
  return { low: (lowest + lows / count) / 2, high: (highest + highs / count) / 2, isThere: first < last };
}
