// Opens a listener, or says in words of this house why that cannot be.
import type { Server } from 'node:net';

export interface ListenAddress {
  host: string;
  /** 0 is any that is free. */
  port: number;
}

/** PEM. */
export interface Tls {
  cert: string;
  key: string;
}

const whyNot: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program listens there already',
  EADDRNOTAVAIL: 'this machine does not have that address',
  EACCES: 'this user may not listen there',
  ENOTFOUND: 'there is no host of that name',
};

/** `what` is spoken there, such as "HTTP". Answers the port. */
export function listen(server: Server, { host, port }: ListenAddress, what: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const refuse = (cause: NodeJS.ErrnoException) => {
      const why = whyNot[cause.code ?? ''] ?? cause.message;
      reject(new Error(`cannot listen for ${what} on ${host}:${port}: ${why}`, { cause }));
    };
    server.once('error', refuse);
    server.listen(port, host, () => {
      server.off('error', refuse);
      resolve((server.address() as { port: number }).port);
    });
  });
}
