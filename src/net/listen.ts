// Opens a listener; its errors are readable sentences.
import type { Server } from 'node:net';

export interface ListenAddress {
  host: string;
  /** 0 is any free port. */
  port: number;
}

/** PEM. */
export interface Tls {
  cert: string;
  key: string;
}

const explanations: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program listens there already',
  EADDRNOTAVAIL: 'this machine does not have that address',
  EACCES: 'this user may not listen there',
  ENOTFOUND: 'there is no host of that name',
};

/** `what` names the protocol, such as "HTTP". Returns the port. */
export function listen(server: Server, { host, port }: ListenAddress, what: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const onError = (cause: NodeJS.ErrnoException) => {
      const reason = explanations[cause.code ?? ''] ?? cause.message;
      reject(new Error(`cannot listen for ${what} on ${host}:${port}: ${reason}`, { cause }));
    };
    server.once('error', onError);
    server.listen(port, host, () => {
      server.off('error', onError);
      resolve((server.address() as { port: number }).port);
    });
  });
}
