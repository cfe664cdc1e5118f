// The envelope of a message where several may follow each other: gRPC, gRPC-Web, and the streams of Connect.
//     1 byte flags   4 bytes length, big-endian   the message

export const headBytes = 5;
export const isCompressedFlag = 1;

/** Of the message in an envelope whose head is whole. */
export const lengthOf = (envelope: Uint8Array): number =>
  Buffer.from(envelope.buffer, envelope.byteOffset, envelope.byteLength).readUInt32BE(1);

export function toEnvelope(message: Uint8Array, flags = 0): Buffer {
  const head = Buffer.alloc(headBytes);
  head[0] = flags;
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}
