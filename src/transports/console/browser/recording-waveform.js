// Draws a recording as bars, with the playback position and a mark at the minimum length.

const barPixels = 3;
const gapPixels = 2;

/**
 * @typedef {object} WaveformView
 * @property {readonly number[]} peaks Values from 0 to 1, at equal intervals.
 * @property {number} seconds The length of the recording.
 * @property {number} secondsMax The time that the full width represents.
 * @property {number} [secondsMin] The minimum length, marked with a dotted line.
 * @property {number} [played] The playback position; Infinity if the recording is not playing.
 */

/** @param {AbortSignal} signal Aborted when the user leaves the page. */
export function createRecordingWaveform(signal) {
  const canvas = document.createElement('canvas');
  canvas.className = 'recording-waveform';
  canvas.setAttribute('aria-hidden', 'true');
  /** @type {WaveformView} */
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
      context.fillStyle = colour('--wave');
      for (let y = 0; y < height; y += 6) context.fillRect(Math.round(xOf(secondsMin)), y, 1, 3);
    }
    const step = barPixels + gapPixels;
    for (let x = 0; x + barPixels <= width; x += step) {
      const from = Math.floor((x / xOf(seconds || 1)) * peaks.length);
      const to = Math.max(from + 1, Math.floor(((x + step) / xOf(seconds || 1)) * peaks.length));
      const isRecorded = seconds > 0 && from < peaks.length;
      const peak = isRecorded ? Math.max(...peaks.slice(from, to)) : 0;
      context.fillStyle = colour(
        !isRecorded ? '--wave-pending' : x > xOf(played) ? '--wave' : peak > 0.99 ? '--wave-over' : '--wave-played',
      );
      // Bar heights follow perceived loudness: a tenth of the amplitude sounds about a quarter as loud.
      const barHeight = Math.max(barPixels, peak ** 0.6 * (height - 4));
      context.beginPath();
      context.roundRect(x, (height - barHeight) / 2, barPixels, barHeight, barPixels / 2);
      context.fill();
    }
  };
  const resizes = new ResizeObserver(draw);
  resizes.observe(canvas);
  // The canvas must be redrawn when the colour theme changes.
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw, { signal });
  const themeChanges = new MutationObserver(draw);
  themeChanges.observe(document.documentElement, { attributeFilter: ['data-theme'] });
  signal.addEventListener('abort', () => {
    resizes.disconnect();
    themeChanges.disconnect();
  });
  return {
    canvas,
    /** @param {WaveformView} view */
    show(view) {
      shown = view;
      draw();
    },
  };
}

/**
 * Returns the peak of each block of samples.
 * @param {Float32Array} samples
 * @param {number} [samplesPerPeak]
 */
export function peaksOf(samples, samplesPerPeak = 1024) {
  const peaks = [];
  for (let at = 0; at < samples.length; at += samplesPerPeak)
    peaks.push(peakOf(samples.subarray(at, at + samplesPerPeak)));
  return peaks;
}

/** @param {Float32Array} samples */
export function peakOf(samples) {
  let peak = 0;
  for (const sample of samples) peak = Math.max(peak, Math.abs(sample));
  return peak;
}
