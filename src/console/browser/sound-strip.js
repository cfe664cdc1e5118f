// A sound as a strip of bars from left to right, as it grows and as it is played: what was heard, how much of it there may
// be, and from where on it is enough. The colours are those of the text around it.

const barPixels = 3;
const gapPixels = 2;

/**
 * @typedef {object} Strip
 * @property {readonly number[]} peaks From 0 to 1, each of as much time.
 * @property {number} seconds How long they are together.
 * @property {number} secondsMax What the whole width stands for.
 * @property {number} [secondsMin] Where it is enough.
 * @property {number} [played] How many seconds of it were heard.
 */

/** @param {AbortSignal} signal When nobody looks at it any more. */
export function createSoundStrip(signal) {
  const canvas = document.createElement('canvas');
  canvas.className = 'sound-strip';
  canvas.setAttribute('aria-hidden', 'true');
  /** @type {Strip} */
  let shown = { peaks: [], seconds: 0, secondsMax: 1 };

  const draw = () => {
    const { width, height } = canvas.getBoundingClientRect();
    const context = canvas.getContext('2d');
    if (width === 0 || !context) return;
    canvas.width = Math.round(width * devicePixelRatio);
    canvas.height = Math.round(height * devicePixelRatio);
    context.scale(devicePixelRatio, devicePixelRatio);
    const style = getComputedStyle(canvas);
    /** @param {string} name */
    const colour = (name) => style.getPropertyValue(name);
    const { peaks, seconds, secondsMax, secondsMin = 0, played = Infinity } = shown;
    const xOf = (/** @type {number} */ at) => (at / Math.max(secondsMax, seconds)) * width;

    if (secondsMin > 0) {
      context.fillStyle = colour('--strip-mark');
      for (let y = 0; y < height; y += 6) context.fillRect(Math.round(xOf(secondsMin)), y, 1, 3);
    }
    const step = barPixels + gapPixels;
    for (let x = 0; x + barPixels <= width; x += step) {
      const from = Math.floor((x / xOf(seconds || 1)) * peaks.length);
      const to = Math.max(from + 1, Math.floor(((x + step) / xOf(seconds || 1)) * peaks.length));
      const isHeard = seconds > 0 && from < peaks.length;
      const peak = isHeard ? Math.max(...peaks.slice(from, to)) : 0;
      context.fillStyle = colour(
        !isHeard ? '--strip-rest' : x > xOf(played) ? '--strip-ahead' : peak > 0.99 ? '--strip-over' : '--strip-bar',
      );
      // As loud as it seems: a tenth of the amplitude is half of the loudness.
      const tall = Math.max(barPixels, peak ** 0.6 * (height - 4));
      context.beginPath();
      context.roundRect(x, (height - tall) / 2, barPixels, tall, barPixels / 2);
      context.fill();
    }
  };
  const watch = new ResizeObserver(draw);
  watch.observe(canvas);
  // It was drawn in the colours of the light there was.
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw, { signal });
  const turned = new MutationObserver(draw);
  turned.observe(document.documentElement, { attributeFilter: ['data-theme'] });
  signal.addEventListener('abort', () => {
    watch.disconnect();
    turned.disconnect();
  });
  return {
    canvas,
    /** @param {Strip} strip */
    show(strip) {
      shown = strip;
      draw();
    },
  };
}

/**
 * The loudest of each so many samples.
 * @param {Float32Array} samples
 * @param {number} [perPeak]
 */
export function peaksOf(samples, perPeak = 1024) {
  const peaks = [];
  for (let at = 0; at < samples.length; at += perPeak) peaks.push(peakOf(samples.subarray(at, at + perPeak)));
  return peaks;
}

/** @param {Float32Array} samples */
export function peakOf(samples) {
  let peak = 0;
  for (const sample of samples) peak = Math.max(peak, Math.abs(sample));
  return peak;
}
