// Concatenates arrays of samples or bytes into a new array, which may be transferred to another thread.

type Numbers = Uint8Array<ArrayBuffer> | Int16Array<ArrayBuffer> | Float32Array<ArrayBuffer>;

export function join<T extends Numbers>(ArrayOf: new (length: number) => T, parts: readonly ArrayLike<number>[]): T {
  const whole = new ArrayOf(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
