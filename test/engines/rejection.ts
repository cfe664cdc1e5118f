// The failure with which work ends.
import { expect } from 'vitest';
import { Failure } from '../../src/platform/errors.ts';

export async function rejection(work: Promise<unknown>): Promise<Failure> {
  const failure = await work.then(
    () => expect.unreachable('it does not fail'),
    (error) => error,
  );
  expect(failure).toBeInstanceOf(Failure);
  return failure;
}
