// Why a model could not be installed or removed, as callers are told: without paths of the machine, and without the
// credentials of a mirror.
import { Failure, toFailure } from '../errors.ts';

const readOnlyCodes = ['EACCES', 'EPERM', 'EROFS', 'SQLITE_READONLY', 'SQLITE_CANTOPEN'];
const fullCodes = ['ENOSPC', 'EDQUOT', 'SQLITE_FULL'];

const readOnlyMessage = 'The service may not write to the folder of its models; the operator has to make it writable.';
const fullMessage = 'There is no room on the disk for it.';

/** Its cause is the error itself, for the log. */
export function toInstallFailure(error: unknown, dataDir: string): Failure {
  const { code } = error as { code?: string };
  if (code !== undefined && readOnlyCodes.includes(code))
    return new Failure('storage_unavailable', { message: readOnlyMessage }, error);
  if (code !== undefined && fullCodes.includes(code))
    return new Failure('storage_full', { message: fullMessage }, error);
  if (!(error instanceof Failure)) return toFailure(error);
  const { reason, facts, message } = error;
  return new Failure(reason, { ...facts, message: withoutPlaces(message, dataDir) }, error.cause ?? error);
}

/** A URL may carry a password, and what is needed of a path is its name. */
const withoutPlaces = (message: string, dataDir: string): string =>
  message
    .replace(/(https?:\/\/)[^\s/]*@/g, '$1')
    .replaceAll(`${dataDir}/`, '')
    .replaceAll(dataDir, 'the data folder')
    .replace(/models\/\.(?:downloads\/[^/\s]+|import-[^/\s]+)\//g, '');
