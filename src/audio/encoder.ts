// The interface of all encoders. Each format has an encoder (see formats.ts).

/** Encodes one stream, in order. The returned bytes form one valid file. */
export interface Encoder {
  /** Returns the bytes that are ready, which may lag behind the samples. Does not retain the samples. */
  encode(samples: Float32Array): Uint8Array;
  /** Returns the samples that are ready before a page of the format is full, if it has pages. The stream continues. */
  flush?(): Uint8Array;
  /** Ends the stream. Returns its last bytes. */
  end(): Uint8Array;
  /**
   * After `end`, returns the first bytes of the complete file. They replace the first bytes of the stream, which lack
   * the length.
   */
  head?(): Uint8Array;
  /** Frees the encoder. Not needed after `end`. */
  close(): void;
}
