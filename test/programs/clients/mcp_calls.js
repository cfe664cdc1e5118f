// The calls of the official MCP clients: the newest, and with the argument `session` that of earlier revisions.
import { given, load, run, sound } from './ten-calls.js';

const isSession = process.argv[2] === 'session';
const sdk = '@modelcontextprotocol/sdk/client';
const { Client } = load(isSession ? `${sdk}/index.js` : '@modelcontextprotocol/client');
const { StreamableHTTPClientTransport } = load(isSession ? `${sdk}/streamableHttp.js` : '@modelcontextprotocol/client');

async function callTool(name, given_, { key = given.key, ...options } = {}) {
  const client = new Client({ name: 'test', version: '1.0.0' });
  const requestInit = { headers: { Authorization: `Bearer ${key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', given.url), { requestInit }));
  const request = { name, arguments: given_ };
  const result = await (isSession ? client.callTool(request, undefined, options) : client.callTool(request, options));
  await client.close();
  return result;
}
async function speak(more = {}, options) {
  const form = more.output_format ?? 'mp3';
  const { content, isError } = await callTool('speak', { text: given.text, voice_id: 'clara', ...more }, options);
  if (isError) return { refused: 'isError', message: content[0].text };
  // The gateway of the tests has another address in its links.
  const answer = await fetch(content[0].uri.replace('http://sonant.test', given.url));
  return sound(form === 'opus' ? 'ogg' : form, Buffer.from(await answer.arrayBuffer()));
}

run(
  async function whole() {
    return speak();
  },
  async function formats() {
    const names = ['mp3', 'opus', 'flac', 'wav'];
    const sounds = await Promise.all(names.map((output_format) => speak({ output_format })));
    return Object.fromEntries(names.map((name, i) => [name, sounds[i]]));
  },
  async function voices() {
    const { content } = await callTool('list_voices', {});
    return JSON.parse(content[0].text).voices.map(({ voice_id }) => voice_id);
  },
  async function interrupt() {
    const failure = await speak({ text: given.long }, { timeout: 500 }).catch(({ message }) => message);
    if (!String(failure).includes('timed out')) return failure;
    return { late: 0, next: await speak() };
  },
  async function invalid() {
    return speak({ speaking_rate: 9 });
  },
  async function unknown_voice() {
    return speak({ voice_id: 'nobody' });
  },
  async function wrong_key() {
    return speak({}, { key: 'snt_wrong' });
  },
  async function quota() {
    await speak({}, { key: given.limited });
    return speak({ text: `${given.text}!` }, { key: given.limited });
  },
  async function too_long() {
    return speak({ text: given.long }, { key: given.limited });
  },
);
