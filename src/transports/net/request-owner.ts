// The owner of a request, to whom its slots and unread bytes belong: the account of its key, or the client's network
// until the key has been verified.
import { networkOf } from '../../platform/net/client-addresses.ts';

const owners = new WeakMap<object, string>();

/** Both HTTP versions have one object per request, which the response also refers to. */
export const setOwner = (request: object | undefined, owner: string): void => {
  if (request) owners.set(request, owner);
};

export const setAddress = (request: object, address: string): void => setOwner(request, networkOf(address));

export const ownerOf = (request: object): string => owners.get(request) ?? '';
