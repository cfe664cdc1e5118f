// Explains operating system errors and connection errors to users. Node's own messages contain system calls, error
// codes and paths of temporary files.
import { getSystemErrorMessage } from 'node:util';

/** Explanations by code or name. For others, the operating system's text is used. */
const explanations: Readonly<Record<string, string>> = {
  EAI_AGAIN: 'the host name cannot be looked up',
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was closed',
  EISDIR: 'it is a folder, not a file',
  ENOENT: 'no such file or folder',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of the path is not a folder',
  ENOTFOUND: 'the host name is unknown',
  TimeoutError: 'no answer in time',
  UND_ERR_BODY_TIMEOUT: 'no answer in time',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
  UND_ERR_HEADERS_TIMEOUT: 'no answer in time',
  UND_ERR_SOCKET: 'the connection was closed',
};

/** The reason for a system error, such as "permission denied"; the message of any other error. */
export function reasonOf(error: unknown): string {
  const { code = '', name, errno, message } = error as NodeJS.ErrnoException;
  return (
    explanations[code] ??
    explanations[name] ??
    (errno !== undefined && errno < 0 ? getSystemErrorMessage(errno) : message)
  );
}
