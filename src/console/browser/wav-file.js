// A WAV file of 16 bit and one channel, as the service writes it: "RIFF", size, "WAVE"; "fmt ", 16, PCM, 1 channel, rate,
// bytes a second, bytes a frame, bits; "data", size, samples. Little-endian. RFC 2361; Multimedia Programming Interface 1.0.

const headBytes = 44;

/**
 * @param {Int16Array<ArrayBuffer>} samples
 * @param {number} sampleRateHz
 */
export function toWav(samples, sampleRateHz) {
  const head = new DataView(new ArrayBuffer(headBytes));
  /** @param {number} at @param {string} text */
  const letters = (at, text) => {
    for (let i = 0; i < text.length; i++) head.setUint8(at + i, text.charCodeAt(i));
  };
  letters(0, 'RIFF');
  head.setUint32(4, headBytes - 8 + samples.byteLength, true);
  letters(8, 'WAVEfmt ');
  head.setUint32(16, 16, true);
  head.setUint16(20, 1, true);
  head.setUint16(22, 1, true);
  head.setUint32(24, sampleRateHz, true);
  head.setUint32(28, sampleRateHz * 2, true);
  head.setUint16(32, 2, true);
  head.setUint16(34, 16, true);
  letters(36, 'data');
  head.setUint32(40, samples.byteLength, true);
  return new Blob([head, samples], { type: 'audio/wav' });
}
