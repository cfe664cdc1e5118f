// Classifies errors of PostgreSQL by their SQLSTATE (PostgreSQL, appendix A): faults of the database become a Failure,
// faults of a statement stay what they are. An error without a SQLSTATE is one of the connection.
import pg from 'pg';
import { Failure } from '../errors.ts';

/** A serialization failure or a deadlock: the transaction may succeed when it is retried. */
export const isConflict = (error: unknown): boolean => /^40(001|P01)$/.test(stateOf(error) ?? '');

/** Whether the connection can be used after this error. */
export function isConnectionUsable(error: unknown): boolean {
  const state = stateOf(error);
  return state !== undefined && !breaking.test(state);
}

/** The server is shutting down, has become a standby, or is broken: the connection must be replaced. */
const breaking = /^(08|25006|25P03|26|42P05|57P|58|XX)/;
/**
 * No connection (08, 57P), no resources (53), no privilege (28, 42501), no such database or schema (3D, 3F), a standby
 * (25006), a timeout (25P03, 55P03, 57014), repeated conflicts (40), an internal error (58, F0, XX), prepared statements
 * lost in a pooler (26, 42P05).
 */
const storageFaults = /^(08|25006|25P03|26|28|3D|3F|40001|40P01|42501|42P05|53|55P03|57|58|F0|XX)/;

/** Translates an error that the server reported. */
export function toStorageFailure(error: unknown): unknown {
  const state = stateOf(error);
  if (state === '53100') return new Failure('storage_full', {}, error);
  return state !== undefined && storageFaults.test(state) ? unavailable(error) : error;
}

/** Translates an error of the connection. */
export const toConnectionFailure = (error: unknown): unknown =>
  stateOf(error) === undefined ? unavailable(error) : error;

const unavailable = (cause: unknown) => new Failure('storage_unavailable', { retryAfterSeconds: 1 }, cause);
const stateOf = (error: unknown): string | undefined => (error instanceof pg.DatabaseError ? error.code : undefined);
