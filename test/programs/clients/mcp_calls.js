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
async function speak({ voice: voice_id = 'clara', text = given.text, form = 'mp3', key, timeout, ...more }) {
  const request = { text, voice_id, output_format: form, ...more };
  const { content, isError } = await callTool('speak', request, { key, timeout });
  if (isError) return { refused: 'isError', message: content[0].text };
  // The gateway of the tests has another address in its links.
  const answer = await fetch(content[0].uri.replace('http://sonant.test', given.url));
  return sound(form === 'opus' ? 'ogg' : form, Buffer.from(await answer.arrayBuffer()));
}

run(speak, {
  forms: ['mp3', 'opus', 'flac', 'wav'],
  async voices() {
    const { content } = await callTool('list_voices', {});
    return JSON.parse(content[0].text).voices.map(({ voice_id }) => voice_id);
  },
  async interrupt() {
    const failure = await speak({ text: given.long, timeout: 500 }).catch(({ message }) => message);
    if (!String(failure).includes('timed out')) throw new Error(`not interrupted: ${failure}`);
  },
  invalid: () => speak({ speaking_rate: 9 }),
});
