// Code that sends a request for speech, in several languages. Every value is quoted by the rules of its language, because
// other people choose the names of voices. The code reads the API key from the environment and never contains it.

/** @typedef {{ url: string, body: object, file: string }} Request */

/**
 * JSON whose strings are literals in Python and JavaScript too. Characters that a reader cannot see are escaped.
 * @param {unknown} value
 * @param {number} [indent]
 */
const toJson = (value, indent) =>
  JSON.stringify(value, null, indent).replace(/[\p{Cf}\x7f-\x9f\u2028\u2029]/gu, (char) =>
    Array.from({ length: char.length }, (_, i) => `\\u${char.charCodeAt(i).toString(16).padStart(4, '0')}`).join(''),
  );

/**
 * Quotes a word for a POSIX shell.
 * @param {string} word
 */
export const quoteForShell = (word) => (/^[\w./:@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

const pythonNames = new Map([
  ['true', 'True'],
  ['false', 'False'],
  ['null', 'None'],
]);
/** @param {object} body */
const toPython = (body) =>
  toJson(body, 4).replace(/"(?:[^"\\]|\\.?)*(?:"|$)|true|false|null/g, (token) => pythonNames.get(token) ?? token);

/**
 * Name of the file for the audio. A voice id may contain any characters.
 * @param {string} voiceId
 * @param {string} format
 */
export const toFileName = (voiceId, format) =>
  `${voiceId.replace(/[^A-Za-z0-9._-]|^[.-]/g, '_').slice(0, 100)}.${format}`;

/** For each language, a function that turns a request into code. @type {Readonly<Record<string, (request: Request) => string>>} */
export const codeWriters = {
  curl: ({ url, body, file }) => `curl -sSf ${quoteForShell(url)} \\
  -H "X-API-Key: $SONANT_API_KEY" \\
  -H 'Content-Type: application/json' \\
  -d ${quoteForShell(toJson(body, 2))} \\
  -o ${quoteForShell(file)}`,
  Python: ({ url, body, file }) => `import json, os, urllib.request

body = ${toPython(body)}
request = urllib.request.Request(
    ${toJson(url)},
    data=json.dumps(body).encode(),
    headers={"X-API-Key": os.environ["SONANT_API_KEY"], "Content-Type": "application/json"},
)
with urllib.request.urlopen(request) as reply, open(${toJson(file)}, "wb") as file:
    file.write(reply.read())
`,
  TypeScript: ({ url, body, file }) => `import { writeFile } from 'node:fs/promises';

const reply = await fetch(${toJson(url)}, {
  method: 'POST',
  headers: { 'X-API-Key': process.env.SONANT_API_KEY!, 'Content-Type': 'application/json' },
  body: JSON.stringify(${toJson(body, 2).replaceAll('\n', '\n  ')}),
});
if (!reply.ok) throw new Error(await reply.text());
await writeFile(${toJson(file)}, new Uint8Array(await reply.arrayBuffer()));
`,
};
