// Defines a fuzzing target: a parser or an API, with valid inputs to begin with. `run` resolves if the input is
// accepted or refused with a Failure about the input, and rejects with any other error.
import { Failure } from '../../src/platform/errors.ts';

export interface Target {
  name: string;
  seeds: readonly Buffer[];
  /** Words that are inserted into inputs at random. */
  words: readonly string[];
  run(input: Buffer): unknown;
  close?(): Promise<void>;
}

export type OpenTarget = () => Target | Promise<Target>;

/** Reasons for which a caller's input may be refused. */
const refusals = new Set([
  'invalid_request',
  'not_found',
  'payload_too_large',
  'unsupported_language',
  'voice_not_found',
]);

/** Runs a parser; a proper refusal of the input is not a fault. */
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
