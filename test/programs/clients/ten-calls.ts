// The calls that the test of each client makes at its defaults, in one run of its program (*_calls.py, *_calls.js), and
// the checks of what its user gets. Audio is decoded, and compared with that of Sonant's own API.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rms, toDb } from '../../audio/measure-tone.ts';
import { isInstalled } from '../../programs.ts';
import { toolFolder } from '../../tool-packages.ts';
import { bytesOf, type TestGateway } from '../../transports/http/open-gateway.ts';
import { testCertificate } from '../../transports/rpc/test-certificate.ts';
import { openFliteGateway } from './agent-turns.ts';
import { findPackages, findPython, runProgram } from './client-programs.ts';

/** Audio in base64. `form` is a format of ffmpeg, with a sample rate if the audio has no header. */
type Sound = { form: string; data: string };
type Refusal = { refused: string; message: string };

interface Got extends Record<RefusedCall, Refusal> {
  whole: Sound;
  stream: Sound;
  formats: Record<string, Sound>;
  times: [word: string, start: number, end: number][];
  voices: string[];
  /** `late` counts the bytes of interrupted speech that arrived after the interruption. */
  interrupt: { late: number; next: Sound };
}

type NameAndMessage = readonly [name: string, message: string];
type RefusedCall = 'invalid' | 'unknown_voice' | 'stream_of_unknown_voice' | 'wrong_key' | 'quota' | 'too_long';

export interface Client {
  /** The program, and its arguments. */
  program: readonly [name: string, ...args: string[]];
  /** The example with the packages of a client in JavaScript. Default: tools/. */
  example?: string;
  /** Calls that the client does not have. */
  without?: readonly (keyof Got)[];
  /** The class of each exception, and a part of its message if that is not the usual one. */
  refusals: Partial<Record<RefusedCall, string | NameAndMessage>> & { invalid: NameAndMessage };
  /** The statuses of refused requests. A client asks once for each refusal. */
  statuses: readonly number[];
  /** Opens what else the client needs, given a key with a quota. Returns more input for the program. */
  open?(gateway: TestGateway, limited: string, onClose: OnClose): Promise<object>;
}

type OnClose = (close: () => Promise<void>) => void;

const text = 'Good morning, all of you. It is a fine day today.';
const rate = 24_000;
/** Parts of Sonant's messages, which most clients show to their users. */
const usualMessages: Partial<Record<RefusedCall, string>> = {
  unknown_voice: 'Voice not found',
  stream_of_unknown_voice: 'Voice not found',
  wrong_key: 'The API key is',
  quota: '8 are left until',
  too_long: '57 a month',
};
/** A stream may lack the pause between its sentences. */
const pauseSeconds = 0.2;
setDefaultCACertificates([...getCACertificates(), testCertificate.cert]);

async function openClientGateway(onClose: OnClose) {
  let port = 0;
  const url = () => `https://localhost:${port}`;
  const gateway = await openFliteGateway(onClose, { tls: testCertificate, baseUrl: url });
  port = gateway.gateway.port;
  return { ...gateway, url: url() };
}

async function runClient({ program, example, open }: Client, gateway: TestGateway, onClose: OnClose): Promise<Got> {
  const [name, ...args] = program;
  const certificate = join(gateway.folder, 'cert.pem');
  writeFileSync(certificate, testCertificate.cert);
  const { key: limited } = await gateway.keyVerifier.create({ limits: { charactersPerMonth: text.length + 8 } });
  const long = 'This goes on for a while, and then for a while more. '.repeat(90);
  const packages = example ? findPackages(example)! : join(toolFolder, '..');
  const more = await open?.(gateway, limited, onClose);
  const input = { url: gateway.url, key: gateway.key, limited, text, long, packages, ...more };
  const env = { SSL_CERT_FILE: certificate, NODE_EXTRA_CA_CERTS: certificate };
  return runProgram<Got>(interpreterOf(name)!, name, args, input, env);
}

const interpreterOf = (program: string) => (program.endsWith('.js') ? process.execPath : findPython());

function decode({ form, data }: Sound): Int16Array {
  const [format, rawRate] = form.split(' ');
  const input = ['-f', format!, ...(rawRate ? ['-ar', rawRate] : []), '-i', '-'];
  const args = ['-v', 'error', ...input, '-f', 's16le', '-ac', '1', '-ar', String(rate), '-'];
  const { stdout, stderr } = spawnSync('ffmpeg', args, { input: Buffer.from(data, 'base64'), maxBuffer: 2 ** 28 });
  expect(String(stderr), form).toBe('');
  return new Int16Array(new Uint8Array(stdout).buffer);
}

/** Declares a test for each call that the client has. */
export function describeClient(title: string, client: Client): void {
  const [program] = client.program;
  const isMissing =
    !interpreterOf(program) || !isInstalled('ffmpeg') || (client.example && !findPackages(client.example));
  describe.skipIf(isMissing)(title, async () => {
    const gateway = await openClientGateway(afterAll);
    let got: Got;
    let own: Int16Array;
    const closing: (() => Promise<void>)[] = [];
    afterAll(() => Promise.all(closing.map((close) => close())));
    beforeAll(async () => {
      got = await runClient(client, gateway, (close) => void closing.push(close));
      const request = { text, return_format: 'buffer', output_format: 'pcm', sample_rate: rate, voice_id: 'clara' };
      const answer = await gateway.send(`${gateway.url}/api/audio/speech`, { body: request });
      own = new Int16Array(new Uint8Array(await bytesOf(answer)).buffer);
    }, 300_000);
    const expectSound = (sound: Sound, pause = 0) => {
      expect(sound).toMatchObject({ form: expect.any(String) });
      const samples = decode(sound);
      const seconds = (samples.length - own.length) / rate;
      // MP3 has a padding of up to a tenth of a second.
      expect(seconds, sound.form).toBeLessThan(0.15);
      expect(seconds, sound.form).toBeGreaterThan(-0.15 - pause);
      expect(Math.abs(toDb(rms(samples) / rms(own))), sound.form).toBeLessThan(1);
    };
    const testCall = <Name extends keyof Got>(name: Name, check: (result: Got[Name]) => void | Promise<void>) => {
      if (!client.without?.includes(name)) test(name, () => check(got[name]));
    };
    testCall('whole', (sound) => expectSound(sound));
    testCall('stream', (sound) => expectSound(sound, pauseSeconds));
    testCall('formats', (sounds) => {
      for (const sound of Object.values(sounds)) expectSound(sound);
    });
    testCall('times', (words) => {
      expect(words.map(([word]) => word.trim()).join(' ')).toBe(text);
      const times = words.flatMap(([, start, end]) => [start, end]);
      expect(times).toEqual(times.toSorted((one, other) => one - other));
      const silence = own.length / rate - times.at(-1)!;
      expect(silence, 'after the last word').toBeLessThan(0.25 + pauseSeconds);
      expect(silence).toBeGreaterThanOrEqual(0);
    });
    testCall('voices', (voices) => expect(voices).toContain('clara'));
    testCall('interrupt', async ({ late, next }) => {
      expect(late).toBe(0);
      expectSound(next);
      await expect.poll(() => gateway.schedule.state.speaking).toBe(0);
      expect(gateway.calls.map(({ status }) => status)).toContain('CANCELLED');
    });
    for (const call of Object.keys(client.refusals) as RefusedCall[]) {
      const expected = client.refusals[call]!;
      const [refused, message] = typeof expected === 'string' ? [expected, usualMessages[call]!] : expected;
      testCall(call, (given) => {
        const { data: _, ...result } = given as Refusal & Partial<Sound>;
        expect(result).toEqual({ refused, message: expect.stringContaining(message) });
      });
    }
    test('each refused request is sent once', () => {
      const statuses = gateway.requests.map(({ status }) => status);
      // MCP's clients ask with GET whether there is a stream.
      const refused = statuses.filter((status) => status >= 400 && status !== 405);
      expect(refused.toSorted()).toEqual(client.statuses);
    });
  });
}
