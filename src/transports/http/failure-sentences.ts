// Renders a failure as one text, for the APIs of other vendors. The errors of these APIs have no list of details, and
// their list of voices has a different URL.
import type { Failure } from '../../platform/errors.ts';

/** The message of the failure and its details in one text. `listUrl` is the URL of the vendor API's list of voices. */
export function toMessage({ message, facts: { details = [] } }: Failure, listUrl: string): string {
  const sentences = details.map((violation) => `${violation.field} ${violation.message}`).join('; ');
  return sentences === '' ? withListUrl(message, listUrl) : `${sentences}.`;
}

/** Replaces Sonant's URL for the list of voices in a sentence with the vendor API's URL. */
export const withListUrl = (sentence: string, listUrl: string): string =>
  sentence.replace('GET /api/voices ', `GET ${listUrl} `);
