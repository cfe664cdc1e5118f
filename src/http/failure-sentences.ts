// The sentences of a failure, for the APIs of other vendors, whose errors are one text and whose lists have other addresses.
import type { Failure } from '../errors.ts';

/** The faults of a failure in one text, for APIs whose errors have no list; `listUrl` is where such an API lists its voices. */
export function toMessage({ message, facts: { details = [] } }: Failure, listUrl: string): string {
  const sentences = details.map((violation) => `${violation.field} ${violation.message}`).join('; ');
  return sentences === '' ? withListUrl(message, listUrl) : `${sentences}.`;
}

/** A sentence of ours that names the list of voices, as another API says it. */
export const withListUrl = (sentence: string, listUrl: string): string =>
  sentence.replace('GET /api/voices ', `GET ${listUrl} `);
