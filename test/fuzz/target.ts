// What is fuzzed: a parser or a door, with good inputs to begin with. `run` resolves where the input is taken or refused as
// it should be, and rejects where it is not: with anything but a Failure that says what is wrong with the input.
import { Failure } from '../../src/errors.ts';

export interface Target {
  name: string;
  seeds: readonly Buffer[];
  /** What is put into inputs at random. */
  words: readonly string[];
  run(input: Buffer): unknown;
  close?(): Promise<void>;
}

export type OpenTarget = () => Target | Promise<Target>;

/** The reasons that a caller's input may be refused for. */
const refusals = new Set([
  'invalid_request',
  'not_found',
  'payload_too_large',
  'unsupported_language',
  'voice_not_found',
]);

/** Runs a parser; what refuses the input as it should is no fault. */
export async function expectRefusal(
  parse: () => unknown,
  isRefusal: (error: unknown) => boolean = () => false,
): Promise<void> {
  try {
    await parse();
  } catch (error) {
    const isOwn = error instanceof Failure && refusals.has(error.reason);
    if (!isOwn && !isRefusal(error)) throw error;
  }
}
