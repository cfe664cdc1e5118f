// What a page of the console is to the shell, and what the shell gives it.
import type { Api } from './api.js';
import type { ApiKey } from './wire.d.ts';

export interface Page {
  /** Its address: `#/name`. */
  name: string;
  title: string;
  /** What the key must be good for, if anything; where it is not, the shell says so in place of the page. */
  scope?: string;
  /** Fills `desk.room`. What it throws is shown as a failure. */
  show(desk: Desk): void | Promise<void>;
}

export interface Desk {
  /** Where the page puts itself. Empty, and thrown away when the page is left. */
  room: HTMLElement;
  api: Api;
  /** The key that is in use, without its secret. */
  key: ApiKey;
  /** Whether the key is good for that scope. */
  may(scope: string): boolean;
  /** What follows the name in the address: `#/voices/clara` has ["clara"]. */
  rest: string[];
  /** Aborted when the page is left. */
  signal: AbortSignal;
  /** Says it where it can be seen for a while, and read out. */
  say(text: string): void;
  /** Shows what went wrong, as the service says it, with the id of the request; stays until it is closed. */
  complain(error: unknown): void;
}
