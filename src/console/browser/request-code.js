// Writes the code samples of the Speak page: a request that saves the same speech as a file. The code reads the API key from
// the environment variable SONANT_API_KEY and never contains it.
/** @import { Speech } from './speech-stream.js' */
import { serviceUrl } from './api.js';
import { toRequestFields } from './speech-stream.js';

/** @typedef {(body: object, file: string) => string} Writer */

/**
 * The request body that returns all the speech as one file.
 * @param {Speech} speech
 * @param {string} format
 * @param {'buffer' | 'url'} returnFormat
 */
export function toFileBody(speech, format, returnFormat) {
  const [first, ...more] = speech.chunks.map(({ text }) => text);
  const isOne = more.length === 0;
  return {
    ...toRequestFields(speech),
    ...(isOne ? { text: first ?? '' } : { method: 'streaming', text_chunks: [first, ...more] }),
    output_format: format,
    ...((isOne || returnFormat === 'url') && { return_format: returnFormat }),
  };
}

/** The writers by language name. @type {Readonly<Record<string, Writer>>} */
export const codeWriters = {
  curl: (body, file) => {
    const json = JSON.stringify(body, null, 2).replaceAll("'", "'\\''");
    return `curl -sSf ${serviceUrl}/api/audio/speech \\
  -H "X-API-Key: $SONANT_API_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '${json}' \\
  -o ${file}`;
  },
  Python: (body, file) => `import json, os, urllib.request

body = ${toPython(body)}
request = urllib.request.Request(
    "${serviceUrl}/api/audio/speech",
    data=json.dumps(body).encode(),
    headers={"X-API-Key": os.environ["SONANT_API_KEY"], "Content-Type": "application/json"},
)
with urllib.request.urlopen(request) as reply, open("${file}", "wb") as file:
    file.write(reply.read())
`,
  TypeScript: (body, file) => `import { writeFile } from 'node:fs/promises';

const reply = await fetch('${serviceUrl}/api/audio/speech', {
  method: 'POST',
  headers: { 'X-API-Key': process.env.SONANT_API_KEY!, 'Content-Type': 'application/json' },
  body: JSON.stringify(${JSON.stringify(body, null, 2).replaceAll('\n', '\n  ')}),
});
if (!reply.ok) throw new Error(await reply.text());
await writeFile('${file}', new Uint8Array(await reply.arrayBuffer()));
`,
};

/** Strings, numbers and lists have the same literals in Python and JSON. @param {object} body */
const toPython = (body) => JSON.stringify(body, null, 4);
