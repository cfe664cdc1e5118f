// What is asked for here, as code to paste elsewhere: the request that gets the same sound as a file. The key is read from
// the environment, and is never written out.
/** @import { Speech } from './speech-run.js' */
import { serviceUrl } from './api.js';
import { toFields } from './speech-run.js';

/** @typedef {(body: object, file: string) => string} Writer */

/**
 * The body that gets the whole as one file.
 * @param {Speech} speech
 * @param {string} format
 * @param {'buffer' | 'url'} returned
 */
export function toFileBody(speech, format, returned) {
  const [first, ...more] = speech.chunks.map(({ text }) => text);
  const isOne = more.length === 0;
  return {
    ...toFields(speech),
    ...(isOne ? { text: first ?? '' } : { method: 'streaming', text_chunks: [first, ...more] }),
    output_format: format,
    ...(isOne && { return_format: returned }),
  };
}

/** By the names that people know them by. @type {Readonly<Record<string, Writer>>} */
export const languages = {
  curl: (body, file) => {
    const json = JSON.stringify(body, null, 2).replaceAll("'", "'\\''");
    return `curl -sSf ${serviceUrl}/api/audio/speech \\
  -H "X-API-Key: $KEY" \\
  -H 'Content-Type: application/json' \\
  -d '${json}' \\
  -o ${file}`;
  },
  Python: (body, file) => `import json, os, urllib.request

body = ${toPython(body)}
request = urllib.request.Request(
    "${serviceUrl}/api/audio/speech",
    data=json.dumps(body).encode(),
    headers={"X-API-Key": os.environ["KEY"], "Content-Type": "application/json"},
)
with urllib.request.urlopen(request) as reply, open("${file}", "wb") as file:
    file.write(reply.read())
`,
  TypeScript: (body, file) => `import { writeFile } from 'node:fs/promises';

const reply = await fetch('${serviceUrl}/api/audio/speech', {
  method: 'POST',
  headers: { 'X-API-Key': process.env.KEY!, 'Content-Type': 'application/json' },
  body: JSON.stringify(${JSON.stringify(body, null, 2).replaceAll('\n', '\n  ')}),
});
if (!reply.ok) throw new Error(await reply.text());
await writeFile('${file}', new Uint8Array(await reply.arrayBuffer()));
`,
};

/** Texts, numbers and lists are written in Python as they are in JSON. @param {object} body */
const toPython = (body) => JSON.stringify(body, null, 4);
