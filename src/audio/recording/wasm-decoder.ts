// How the decoders in WebAssembly are driven: given pieces one after the other, each small, so that little comes of each
// and the track can say stop; freed at the end, whatever the end is. They read on through errors, leaving gaps; here an
// error is a fault of the recording, and so is a trap.
import { RecordingFault, type Track, unreadable } from './track.ts';

interface Decoded {
  channelData: readonly Float32Array[];
  sampleRate: number;
  errors: readonly { message: string }[];
}

/** What mpg123-decoder, ogg-opus-decoder and @wasm-audio-decoders have in common. */
export interface WasmDecoder {
  readonly ready: Promise<void>;
  decode(bytes: Uint8Array): Decoded | Promise<Decoded>;
  flush?(): Promise<Decoded>;
  free(): void;
}

export async function decodePieces(
  decoder: WasmDecoder,
  pieces: Iterable<Uint8Array<ArrayBufferLike>>,
  track: Track,
): Promise<void> {
  const take = ({ channelData, sampleRate, errors }: Decoded) => {
    if (errors[0]) throw new Error(errors[0].message);
    track.add(channelData, sampleRate);
  };
  try {
    await decoder.ready;
    for (const piece of pieces) take(await decoder.decode(piece));
    if (decoder.flush) take(await decoder.flush());
  } catch (error) {
    throw error instanceof RecordingFault ? error : unreadable('is damaged: it cannot be decoded', error);
  } finally {
    free(decoder);
  }
}

function free(decoder: WasmDecoder): void {
  try {
    decoder.free();
  } catch {
    // One that has trapped may not even end well; its memory goes with it.
  }
}
