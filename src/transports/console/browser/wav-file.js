// Writes a 16-bit mono WAV file. Its little-endian header is "RIFF", size, "WAVE"; "fmt ", 16, PCM, 1 channel, rate,
// bytes per second, bytes per frame, bits; "data", size. See RFC 2361 and Multimedia Programming Interface 1.0.

const headerBytes = 44;

/**
 * @param {Int16Array<ArrayBuffer>} samples
 * @param {number} sampleRateHz
 */
export function toWav(samples, sampleRateHz) {
  const header = new DataView(new ArrayBuffer(headerBytes));
  /** @param {number} at @param {string} text */
  const writeAscii = (at, text) => {
    for (let i = 0; i < text.length; i++) header.setUint8(at + i, text.charCodeAt(i));
  };
  writeAscii(0, 'RIFF');
  header.setUint32(4, headerBytes - 8 + samples.byteLength, true);
  writeAscii(8, 'WAVEfmt ');
  header.setUint32(16, 16, true);
  header.setUint16(20, 1, true);
  header.setUint16(22, 1, true);
  header.setUint32(24, sampleRateHz, true);
  header.setUint32(28, sampleRateHz * 2, true);
  header.setUint16(32, 2, true);
  header.setUint16(34, 16, true);
  writeAscii(36, 'data');
  header.setUint32(40, samples.byteLength, true);
  return new Blob([header, samples], { type: 'audio/wav' });
}
