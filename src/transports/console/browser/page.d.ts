// The contract between the shell and a page of the console: what a page declares, and what the shell passes to it.

import type { ApiKey } from '../../../../gen/openapi.ts';
import type { Api } from './api.js';

export interface Page {
  /** The address of the page is `#/name`. */
  name: string;
  title: string;
  /** The scope that the page needs. If the key lacks it, the shell shows a message instead of the page. */
  scope?: string;
  /** Fills `context.root`. A thrown error is shown as a notice. */
  show(context: PageContext): void | Promise<void>;
}

export interface PageContext {
  /** The element that the page fills. It starts empty and is removed when the user leaves the page. */
  root: HTMLElement;
  api: Api;
  /** The API key in use, without its secret. */
  key: ApiKey;
  /** Whether the key in use has the scope. */
  hasScope(scope: string): boolean;
  /** The address after the page name: `#/voices/clara` gives ["clara"]. */
  pathSegments: string[];
  /** Aborted when the user leaves the page. */
  signal: AbortSignal;
  /** Shows a message for 5 s, or for 20 s if it has an undo button. Screen readers announce the message. */
  notify(text: string, undo?: () => void): void;
  /** Shows an error with the request id, until the user closes it. */
  showError(error: unknown): void;
}
