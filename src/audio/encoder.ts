// The contract of the encoders, one for each format (formats.ts).

/** Encodes one stream, in order. The bytes that it returns make one valid file. */
export interface Encoder {
  /** Returns the bytes that are ready; they may lag behind the samples. The samples are read before it returns, never kept. */
  encode(samples: Float32Array): Uint8Array;
  /** The last bytes. */
  end(): Uint8Array;
  /** After `end`, the first bytes of the whole file; they replace those of the stream, which could not know its length. */
  head?(): Uint8Array;
  /** Frees the encoder; after `end` there is nothing left to free. */
  close(): void;
}
