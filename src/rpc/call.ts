// What is known of a call while it runs, carried in Connect's context values from the gate to the handlers. Nothing of
// it can come over the wire; a door in this process may put values in when it calls through the local transport.
import { type ContextKey, createContextKey, type HandlerContext } from '@connectrpc/connect';
import type { Delivered } from '../delivery/delivery.ts';
import { type Actor, toActor } from '../keys/actor.ts';
import type { KeyCaller } from '../keys/key-verifier.ts';

/** Who was let in, and the scopes that this took. */
export interface Admitted {
  caller: KeyCaller;
  scopes: readonly string[];
}

/** Set by a door that has asked for admission already; else by the gate. */
export const admittedKey: ContextKey<Admitted | undefined> = createContextKey(undefined, { description: 'admitted' });

/** Where the call comes from: an IP address. Set by the door that it came through. */
export const addressKey: ContextKey<string> = createContextKey('', { description: 'address' });

/** Through which door the call came, for the log: "rest", "sse". The protocol unless a door says. */
export const doorKey: ContextKey<string | undefined> = createContextKey(undefined, { description: 'door' });

/**
 * Where SynthesizeSpeech leaves the finished sound for a door that sends it from where it is kept. The answer then holds
 * no sound, and no limit on inline sound applies.
 */
export const handoverKey: ContextKey<{ delivered?: Delivered } | undefined> = createContextKey(undefined, {
  description: 'handover',
});

/** The caller, in a handler of a method that the gate guards. */
export function callerOf({ values, method }: Pick<HandlerContext, 'values' | 'method'>): KeyCaller {
  const admitted = values.get(admittedKey);
  if (!admitted) throw new Error(`${method.name} was called past the gate`);
  return admitted.caller;
}

/** The caller as the actor of a change. */
export const actorOf = (context: HandlerContext): Actor =>
  toActor(callerOf(context), {
    address: context.values.get(addressKey),
    requestId: context.responseHeader.get('x-request-id') ?? '',
  });
