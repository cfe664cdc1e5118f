// The trailers of a gRPC response, as clients unescape them.

/** Connect escapes more of a message than gRPC does, and some clients unescape only what gRPC escapes. */
export function toTrailers(trailer: Headers): Record<string, string> {
  const trailers = Object.fromEntries(trailer);
  const message = trailers['grpc-message'];
  if (message) {
    const bytes = Buffer.from(decodeURIComponent(message)).toString('latin1');
    const escaped = (byte: string) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
    trailers['grpc-message'] = bytes.replace(/[^ -$&-~]/g, escaped);
  }
  return trailers;
}
