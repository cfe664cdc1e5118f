// Runs a WebAssembly decoder on small pieces, so that each gives little output and the track can stop it, and always frees
// it. These decoders skip errors and leave gaps; here an error, or a trap, is a fault of the recording.
import { RecordingFault, type Track, unreadable } from './track.ts';

interface Decoded {
  channelData: readonly Float32Array[];
  sampleRate: number;
  errors: readonly { message: string }[];
}

/** The interface that mpg123-decoder, ogg-opus-decoder and @wasm-audio-decoders share. */
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
    // A decoder that trapped may fail here too; its memory is garbage-collected.
  }
}
