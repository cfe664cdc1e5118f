// Tests the code that the console shows: it is run by a real shell, Python and Node, and must send exactly the request,
// whatever the voice and the text are called.
import { execFile } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { shellWord } from '../../../src/platform/runtime/shell-word.ts';
import { listen } from '../../free-port.ts';
import { newFolder } from '../../new-folder.ts';

/** The module of the browser. It is plain JavaScript, which has no declarations. */
const {
  codeWriters,
  quoteForShell,
  toFileName,
}: {
  codeWriters: Record<string, (request: { url: string; body: object; file: string }) => string>;
  quoteForShell(word: string): string;
  toFileName(voiceId: string, format: string): string;
} = await import(new URL('../../../src/transports/console/browser/request-code.js', import.meta.url).href);

const attacks = [
  ...[
    '$(touch pwned)',
    '`touch pwned`',
    "'; touch pwned; '",
    '"; touch pwned; "',
    "' & touch pwned & '",
    '\n touch pwned\n',
  ],
  ...[
    '"+__import__("os").system("touch pwned")+"',
    "' + require('fs').writeFileSync('pwned', '') + '",
    `\${process.exit(1)}`,
  ],
  ...[
    '\\',
    "\\'",
    '\\"',
    '\\u0027; touch pwned',
    '../../pwned',
    '-o pwned',
    '@pwned',
    '!!',
    '~',
    '#',
    '%s',
    '\u2028\u2029',
  ],
  ...['\u202e\u200bmoc', '🎙👩‍💻', '\ud800', 'true', 'None', '\0', '\x1b]0;pwned\x07', '\r\n\t', ';|<>(){}[]*?'],
];

/** Runs the code in an empty folder, against a server that keeps the request. */
async function runCode(language: string, body: object, voiceId: string) {
  const folder = newFolder();
  const received: string[] = [];
  const server = createServer(async (request, response) => {
    received.push(Buffer.concat(await request.toArray()).toString());
    response.end('audio');
  });
  const port = await listen(server);
  onTestFinished(() => void server.close());
  // The path is one that a shell would split and run.
  const url = `http://127.0.0.1:${port}/a'b;touch$IFS'pwned/api/audio/speech`;
  const code = codeWriters[language]!({ url, body, file: toFileName(voiceId, 'wav') });
  const programs: Record<string, [program: string, args: string[]]> = {
    curl: ['sh', ['-c', code]],
    Python: ['python3', ['-c', code]],
    TypeScript: [process.execPath, ['code.mts']],
  };
  writeFileSync(join(folder, 'code.mts'), code);
  const [program, args] = programs[language]!;
  const env = { PATH: process.env.PATH, HOME: folder, SONANT_API_KEY: 'a key' };
  await promisify(execFile)(program, args, { cwd: folder, env });
  return { received, files: readdirSync(folder).filter((name) => name !== 'code.mts') };
}

test.each(Object.keys(codeWriters))(
  'the %s code sends the request, and runs nothing of a voice id or text',
  async (language) => {
    const voiceId = attacks.join('');
    const body = {
      voice_id: voiceId,
      text_chunks: attacks,
      [attacks.join('')]: null,
      normalize: true,
      captions: false,
      speaking_rate: 1.5,
    };
    const { received, files } = await runCode(language, body, voiceId);
    expect(received.map((each) => JSON.parse(each))).toEqual([body]);
    expect(files).toEqual([toFileName(voiceId, 'wav')]);
  },
);

test('the file of the audio is in the folder of the user, whatever the voice is called', () => {
  expect(toFileName('../../etc/passwd', 'wav')).toBe('_._.._etc_passwd.wav');
  expect(toFileName('-rf', 'wav')).toBe('_rf.wav');
  expect(toFileName('clara', 'mp3')).toBe('clara.mp3');
  for (const attack of attacks) expect(toFileName(attack, 'wav')).toMatch(/^[A-Za-z0-9_][\w.-]*$/);
});

test('a quoted word is the same word in a shell', async () => {
  const words = [...attacks.filter((each) => each !== '\0' && each.isWellFormed()), ''];
  for (const quote of [quoteForShell, shellWord]) {
    const { stdout } = await promisify(execFile)('sh', ['-c', `printf '%s\\0' ${words.map(quote).join(' ')}`]);
    expect(stdout.split('\0').slice(0, -1)).toEqual(words);
  }
});
