// What goes wrong with PostgreSQL, by its SQLSTATE (PostgreSQL, appendix A): what is the store's fault becomes a Failure,
// what is the statement's stays what it is. An error that the server did not answer is one of the connection.
import pg from 'pg';
import { Failure } from '../errors.ts';

/** A transaction that another one has overtaken: done again, it may well succeed. */
export const isConflict = (error: unknown): boolean => /^40(001|P01)$/.test(stateOf(error) ?? '');

/** Whether the connection is still good after this error. */
export function isSound(error: unknown): boolean {
  const state = stateOf(error);
  return state !== undefined && !breaking.test(state);
}

/** The server is going, has become a standby, or is broken: others of its connections may do better. */
const breaking = /^(08|25006|25P03|26|42P05|57P|58|XX)/;
/**
 * No connection (08, 57P), no more resources (53), no right to be there (28, 42501) or no such place (3D, 3F); a standby
 * (25006); too slow (25P03, 55P03, 57014); always overtaken (40); broken (58, F0, XX); a pooler that forgets what was
 * prepared (26, 42P05).
 */
const storageFaults = /^(08|25006|25P03|26|28|3D|3F|40001|40P01|42501|42P05|53|55P03|57|58|F0|XX)/;

/** What the server answers, said as the contract has it. */
export function toStorageFailure(error: unknown): unknown {
  const state = stateOf(error);
  if (state === '53100') return new Failure('storage_full', {}, error);
  return state !== undefined && storageFaults.test(state) ? unavailable(error) : error;
}

/** What goes wrong where the server does not answer. */
export const toConnectionFailure = (error: unknown): unknown =>
  stateOf(error) === undefined ? unavailable(error) : error;

const unavailable = (cause: unknown) => new Failure('storage_unavailable', { retryAfterSeconds: 1 }, cause);
const stateOf = (error: unknown): string | undefined => (error instanceof pg.DatabaseError ? error.code : undefined);
