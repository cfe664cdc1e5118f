// Tests the exit codes and messages of further commands in the test's process, and each command once as a program.
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import packageFile from '../../../package.json' with { type: 'json' };
import { bookCommand } from '../../../src/app/cli/book.ts';
import { commandLine, UsageError } from '../../../src/app/cli/command.ts';
import { configCommand } from '../../../src/app/cli/config.ts';
import { dbCommand } from '../../../src/app/cli/db.ts';
import { doctorCommand } from '../../../src/app/cli/doctor.ts';
import { keyCommand } from '../../../src/app/cli/key.ts';
import { lexiconCommand } from '../../../src/app/cli/lexicon.ts';
import { sayCommand } from '../../../src/app/cli/say.ts';
import { serveCommand } from '../../../src/app/cli/serve.ts';
import { usageCommand } from '../../../src/app/cli/usage.ts';
import { voiceCommand } from '../../../src/app/cli/voice.ts';
import { webhookCommand } from '../../../src/app/cli/webhook.ts';
import { openKeys, openUsage } from '../../../src/app/command-line.ts';
import { versionText } from '../../../src/platform/runtime/installation.ts';
import { openOpenAiServer } from '../../engines/openai-server.ts';
import { freePort, listen } from '../../free-port.ts';
import { newFolder } from '../../new-folder.ts';
import { testCertificate } from '../../transports/rpc/test-certificate.ts';
import { runMain } from './run-main.ts';
import { main, runSonant } from './sonant-program.ts';

const commands = [
  bookCommand,
  configCommand,
  dbCommand,
  doctorCommand,
  keyCommand,
  lexiconCommand,
  sayCommand,
  serveCommand,
  usageCommand,
  voiceCommand,
  webhookCommand,
];

const folder = newFolder(afterAll);

const sonant = (args: string[], input?: string, env?: Record<string, string>) => runMain(folder, args, input, env);
const program = (args: string[], env?: Record<string, string>) => runSonant(folder, args, '', env);

test('voice list names the voices, the default first, for people and for programs', async () => {
  const table = await program(['voice', 'list']);
  const voices = JSON.parse(Buffer.from((await sonant(['voice', 'list', '--json'])).out, 'latin1').toString());
  expect(table.code).toBe(0);
  expect(table.out.split('\n')[1]).toContain(voices[0].voice_id);
  expect(voices[0].language_codes).toEqual(['en-US', 'en']);
  const french = JSON.parse((await sonant(['voice', 'list', '--json', '--language', 'fr'])).out);
  expect(french.some(({ voice_id }: { voice_id: string }) => voice_id === voices[0].voice_id)).toBe(false);
});

test('voice list has 100 columns, and the language of the locale first', async () => {
  const env = { LC_MESSAGES: 'C', LANG: 'fr_FR.UTF-8' };
  const [heading, ...rows] = (await program(['voice', 'list'], { ...env, LC_MESSAGES: '' })).out.trimEnd().split('\n');
  const lines = rows.map((row) => Buffer.from(row, 'latin1').toString());
  expect(heading).toMatch(/^VOICE +LANGUAGES +ENGINE +DESCRIPTION$/);
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(100);
  const isFrench = lines.map((line) => / fr\b/.test(line));
  expect(isFrench.indexOf(false)).toBe(isFrench.filter(Boolean).length);
  const english = (await program(['voice', 'list'], { ...env, LC_ALL: 'en_GB' })).out.split('\n');
  expect(english[1]).toMatch(/^arthur /);
  const engines = english.slice(1, -1).map((line) => / (flite|espeak-ng) /.exec(line)?.[1]);
  expect(engines.toSorted().reverse()).toEqual(engines);
});

test.each([
  [['sya'], 'there is no command sya; did you mean say? '],
  [['list'], 'did you mean sonant voice list or sonant lexicon list or sonant key list?'],
  [['speak', 'Hi.'], 'there is no command speak; did you mean say?'],
  [['help', 'vioce'], 'there is no command vioce; did you mean voice?'],
  [['say', 'Hi.', '--voic', 'clara'], 'there is no option --voic; did you mean --voice?'],
  [['say', 'Hi.', '--rate', '2'], 'there is no option --rate; did you mean --speaking-rate?'],
  [['say', 'Hi.', '--out', 'x.wav'], 'there is no option --out; did you mean --output?'],
  [['say', 'Hi.', '--output-format', 'mp3'], 'there is no option --output-format; did you mean --format?'],
  [['voice', 'lst'], '; did you mean list?'],
  [['say', 'Hi.', '-o', 'x.wav', '--voice', 'clra'], 'voice not found; did you mean clara? '],
  [['voice', 'alias', 'Clara'], 'Voice Clara not found; did you mean clara? '],
  [['voice', 'get', 'kokor'], 'there is no model or file kokor; did you mean kokoro? '],
  [['config', 'sonant'], ''],
])('%j is told what is near', async (args, told) => {
  const { code, err } = await sonant(args);
  expect(code).toBeGreaterThan(0);
  expect(err).toContain(told);
  if (told === '') expect(err).not.toContain('did you mean');
});

test('a data folder that cannot be made is named, with its setting', async () => {
  writeFileSync(join(folder, 'a-file'), '');
  const dataDir = join(folder, 'a-file/data');
  const { code, err } = await sonant(['db', 'migrate'], '', { SONANT_DATA_DIR: dataDir });
  expect([code, err]).toEqual([1, expect.stringContaining(`SONANT_DATA_DIR is ${dataDir}`)]);
});

test.each([
  [
    'a folder for a voice file',
    ['voice', 'import', 'a-folder', '--access', 'private'],
    1,
    'it is a folder, not a file',
  ],
  [
    'a folder for an input',
    ['say', '-i', 'a-folder', '-o', 'x.wav'],
    2,
    'cannot read a-folder: it is a folder, not a file',
  ],
  ['a missing folder', ['say', 'Hi.', '-o', 'none/x.wav'], 2, 'cannot write into none: no such file or folder'],
  ['a file for a folder', ['say', 'Hi.', '-o', 'a-file/x.wav'], 2, 'a part of the path is not a folder'],
  ['a missing book', ['book', 'none.epub', '-o', 'x.mp3'], 2, 'cannot read none.epub: no such file or folder'],
  ['a missing lexicon', ['lexicon', 'put', 'none.pls'], 2, 'cannot read none.pls: no such file or folder'],
])('%s is explained without codes and names of the system', async (_, args, code, told) => {
  mkdirSync(join(folder, 'a-folder'), { recursive: true });
  writeFileSync(join(folder, 'a-file'), 'A book.');
  const ended = await sonant(args);
  expect([ended.code, ended.err]).toEqual([code, expect.stringContaining(told)]);
  expect(ended.err).not.toMatch(/\b(?:E[A-Z]{4,}|ERR_|errno|syscall)|\.part-/);
});

test('doctor looks at everything, and a broken setting is explained', async () => {
  const { code, out } = await program(['doctor']);
  expect(code).toBe(0);
  expect(out).toMatch(/^ready +node/m);
  const dataFolderIn = async (SONANT_DATA_DIR: string) =>
    /^.*data folder.*$/m.exec((await sonant(['doctor'], '', { SONANT_DATA_DIR })).out)?.[0];
  expect(await dataFolderIn('unmade')).toMatch(/unmade; it will be created when it is first needed$/);
  expect(await dataFolderIn('.')).not.toContain('created');
  const broken = await sonant(['doctor'], '', { SONANT_SPEAKING_MAX: 'x', SONANT_WAITING_MAX: 'y' });
  expect(broken.code).toBe(2);
  expect(broken.err).toMatch(/SONANT_SPEAKING_MAX.*SONANT_WAITING_MAX/s);
});

test('serve and doctor name the setting of a TLS mistake', async () => {
  writeFileSync(join(folder, 'cert.pem'), testCertificate.cert);
  writeFileSync(join(folder, 'key.pem'), testCertificate.key);
  writeFileSync(join(folder, 'text.pem'), 'no key');
  for (const [cert, key, told] of [
    ['cert.pem', '', /SONANT_TLS_KEY = .*set together/],
    ['none.pem', 'key.pem', /SONANT_TLS_CERT = none.pem .*no such file or folder/],
    ['text.pem', 'key.pem', /SONANT_TLS_CERT = text.pem/],
    ['cert.pem', 'text.pem', /SONANT_TLS_KEY = text.pem/],
  ] as const) {
    const env = { SONANT_TLS_CERT: cert, SONANT_TLS_KEY: key, SONANT_DATA_DIR: 'tls' };
    const [served, doctored] = await Promise.all([sonant(['serve'], '', env), sonant(['doctor'], '', env)]);
    expect(served).toMatchObject({ code: 2, err: expect.stringMatching(told) });
    expect(doctored).toMatchObject({ code: 1, out: expect.stringMatching(told) });
  }
});

test('a key is made with limits, listed, rotated and revoked, and usage begins with nothing', async () => {
  const env = { SONANT_DATA_DIR: 'keys' };
  await sonant(['db', 'migrate'], '', env);
  const json = async (...args: string[]) => JSON.parse((await sonant([...args, '--json'], '', env)).out);
  const made = await json('key', 'create', '--name', 'app', '--voices', 'arthur', '--concurrency', '3');
  expect(made).toMatchObject({
    name: 'app',
    voice_ids: ['arthur'],
    limits: { concurrency: 3 },
    key: expect.stringMatching(/^snt_/),
  });
  const next = await json('key', 'rotate', made.id, '--grace-seconds', '60');
  expect(next).toMatchObject({ name: 'app', voice_ids: ['arthur'] });
  expect(await json('key', 'revoke', next.id)).toMatchObject({ status: 'revoked', descendants_revoked: 1 });
  expect((await json('key', 'list')).map(({ id }: { id: string }) => id)).toEqual([next.id, made.id]);
  expect(await json('usage', '--group-by', 'key')).toEqual([]);
  for (const args of [
    ['key', 'rotate'],
    ['key', 'list', '--no'],
    ['usage', '--from', 'x'],
    ['usage', '--group-by', 'x'],
  ])
    expect((await sonant(args, '', env)).code).toBe(2);
  expect((await sonant(['key', 'create', '--concurrency', '0'], '', env)).err).toContain('--concurrency:');
  expect((await sonant(['usage', '--to', 'nonsense'], '', env)).err).toContain('--to must be a day');
});

test.each(['key create', 'key list', 'webhook secret key_1 --rotate', 'usage'])(
  '%s in a folder without a database creates none, and says which folder that is',
  async (line) => {
    const { code, out, err } = await sonant(line.split(' '), '', { SONANT_DATA_DIR: 'no-service' });
    expect([code, out]).toEqual([2, '']);
    expect(err).toMatch(
      /no database in the data folder; SONANT_DATA_DIR is \S+no-service\. .* sonant db migrate creates/,
    );
    expect(existsSync(join(folder, 'no-service'))).toBe(false);
  },
);

test.each([
  ['key create --scopes nope', '--scopes: must be one of'],
  ['key create --expires-in-days x', '--expires-in-days: must be'],
  ['key create --allowed-ips nope', '--allowed-ips: must be'],
  ['key create --voices ,', '--voices: must be'],
  ['key create --requests-per-minute 0', '--requests-per-minute: must be'],
  ['key create --characters-per-month x', '--characters-per-month: must be'],
  ['key create app', 'sonant key create takes only flags'],
  ['key list app', 'usage: sonant key list'],
  ['key rotate any --grace-seconds x', '--grace-seconds: must be'],
  ['key revoke', 'usage: sonant key revoke ID'],
  ['voice list --language !', '--language !: must be'],
  ['voice list more', 'usage: sonant voice list'],
  ['voice record more', 'usage: sonant voice record'],
  ['voice import nowhere', 'cannot read nowhere'],
  ['usage --from 2026-02-02 --to 2026-02-01', '--from 2026-02-02 is after --to 2026-02-01'],
  ['db migrate more', 'usage: sonant db'],
  ['webhook more', 'usage: sonant webhook secret'],
  ['webhook secret', 'usage: sonant webhook secret'],
  ['serve more', "unexpected argument 'more'"],
  ['config --more', 'there is no option --more; --help lists the options'],
  ['doctor more', "unexpected argument 'more'"],
  ['key create --nam', 'there is no option --nam; did you mean --name?'],
  ['key create -n', 'there is no option -n; --help lists the options'],
  ['key create --name', '--name needs a value'],
  ['voice export ada -o', '--output needs a value'],
  ['key create --name --json', '--name needs a value; write one that begins with a dash as --name=VALUE'],
  ['key list --json=1', '--json does not take a value'],
])('%s is wrong usage', async (line, told) => {
  const [name, ...args] = line.split(' ');
  const command = commands.find((each) => each.name === name)!;
  const { loadConfig } = commandLine;
  const config = () => ({ ...loadConfig(), dataDir: join(folder, 'usage') });
  const opened = { loadConfig: config, openKeys: () => openKeys(config()), openUsage: () => openUsage(config()) };
  const run = command.run({ ...commandLine, ...opened, args, signal: new AbortController().signal });
  await expect(run).rejects.toThrow(UsageError);
  await expect(run).rejects.toThrow(told);
});

test('webhook secret makes a secret for a key, shows it once, and takes only a fitting grace', async () => {
  const env = { SONANT_DATA_DIR: 'webhooks' };
  await sonant(['db', 'migrate'], '', env);
  const { id } = JSON.parse((await program(['key', 'create', '--json'], env)).out);
  const none = await program(['webhook', 'secret', id], env);
  expect(none).toMatchObject({ code: 1, err: expect.stringContaining('has no webhook secret') });
  const { secret, hint } = JSON.parse((await sonant(['webhook', 'secret', id, '--rotate', '--json'], '', env)).out);
  expect(secret).toMatch(/^whsec_.{44}$/);
  const shown = await sonant(['webhook', 'secret', id], '', env);
  expect(shown.out).toContain(hint);
  expect(shown.out).not.toContain(secret);
  const wrong = await sonant(['webhook', 'secret', id, '--rotate', '--grace-seconds', '-1'], '', env);
  expect(wrong.err).toContain('--grace-seconds');
});

test('doctor counts the webhook secrets that the secret of the service does not decrypt', async () => {
  const env = { SONANT_DATA_DIR: 'sealed' };
  await sonant(['db', 'migrate'], '', env);
  const create = async () => JSON.parse((await sonant(['key', 'create', '--json'], '', env)).out).id;
  const [id, revoked] = [await create(), await create()];
  for (const each of [id, revoked]) await sonant(['webhook', 'secret', each, '--rotate'], '', env);
  await sonant(['key', 'revoke', revoked], '', env);
  const other = { ...env, SONANT_SECRET: 'another secret of 32 characters.' };
  const doctors = () => Promise.all([sonant(['doctor'], '', env), sonant(['doctor'], '', other)]);
  const [known, strange] = await doctors();
  expect(known).toMatchObject({ code: 0, out: expect.stringMatching(/^ready +webhook secrets +1 stored$/m) });
  expect(strange.out).toMatch(/^broken +webhook secrets +1 of 1 cannot be decrypted: SONANT_SECRET/m);
  expect(strange.code).toBe(1);
  expect((await sonant(['webhook', 'secret', id], '', other)).err).toContain('can no longer be decrypted');
  await sonant(['webhook', 'secret', id, '--rotate'], '', other);
  expect((await doctors())[1]!.out).toMatch(/^ready +webhook secrets/m);
});

test('serve reports all mistakes of the settings at once, with the ports in use, and doctor finds the same', async () => {
  const other = createServer();
  onTestFinished(() => void other.close());
  const busy = `127.0.0.1:${await listen(other)}`;
  const env = {
    SONANT_DATA_DIR: 'signing',
    SONANT_HTTP_ADDR: busy,
    SONANT_GRPC_ADDR: '127.0.0.1:0',
    SONANT_ADMIN_ADDR: busy,
    SONANT_WYOMING_ADDR: busy.replace('127.0.0.1', '0.0.0.0'),
    SONANT_OIDC_ISSUER: `http://127.0.0.1:${await freePort()}`,
    SONANT_BASE_URL: 'http://sonant.example',
    SONANT_TLS_CERT: 'none.pem',
    SONANT_S3_LINKS: 'public',
    SONANT_DATABASE_URL: 'postgresql://127.0.0.1:1/none',
  };
  const inSettings = [
    /SONANT_ADMIN_ADDR = .*SONANT_HTTP_ADDR is set to the same port/,
    /SONANT_SECRET .*must be set/,
    /SONANT_MASTER_KEY .*must be set/,
    /SONANT_OIDC_CLIENT_ID .*must be the client id/,
    /SONANT_OIDC_SUBJECTS .*must list/,
    /SONANT_BASE_URL .*must begin with https/,
    /SONANT_WYOMING_KEY .*must be an API key/,
    /SONANT_WYOMING_ADDR .*accepts clients without a key/,
  ];
  const inUse = /SONANT_HTTP_ADDR = 127.0.0.1:\d+ .*the port is in use, perhaps by another Sonant/;
  const inTls = /SONANT_TLS_CERT = none.pem .*no such file or folder/;
  const served = await program(['serve'], { ...env, SONANT_S3_BUCKET: 'audio' });
  expect(served.code).toBe(2);
  for (const told of [...inSettings, inUse, inTls, /SONANT_S3_PUBLIC_URL .*must be the address/])
    expect(served.err).toMatch(told);
  const doctored = await sonant(['doctor', '--json'], '', env);
  expect(doctored.code).toBe(1);
  const findings = JSON.parse(doctored.out) as { what: string; state: string; message: string }[];
  const found = (what: string) => findings.find((each) => each.what === what);
  for (const told of inSettings)
    expect(found('settings')).toMatchObject({ state: 'broken', message: expect.stringMatching(told) });
  expect(found('ports')).toMatchObject({ state: 'in use', message: expect.stringMatching(inUse) });
  expect(found('TLS')).toMatchObject({ state: 'broken', message: expect.stringMatching(inTls) });
  expect(found('OIDC issuer')).toMatchObject({
    state: 'broken',
    message: expect.stringMatching(/the connection was refused/),
  });
});

/** Runs doctor with an issuer that answers each path: with JSON, with a status, or never (undefined). */
async function doctorWithIssuer(answerTo: (path: string, root: string) => object | number | undefined) {
  const issuer = createHttpServer(({ url = '', headers }, response) => {
    const answer = answerTo(url, `http://${headers.host}`);
    response.setHeader('Content-Type', 'application/json');
    if (typeof answer === 'number') response.writeHead(answer).end();
    else if (answer) response.end(JSON.stringify(answer));
  });
  onTestFinished(() => {
    issuer.close();
    issuer.closeAllConnections();
  });
  const env = {
    SONANT_DATA_DIR: 'issued',
    SONANT_HTTP_ADDR: '127.0.0.1:0',
    SONANT_GRPC_ADDR: '127.0.0.1:0',
    SONANT_OIDC_ISSUER: `http://127.0.0.1:${await listen(issuer)}`,
    SONANT_OIDC_CLIENT_ID: 'sonant',
    SONANT_OIDC_SUBJECTS: '*',
  };
  return sonant(['doctor'], '', env);
}

test('doctor finds an issuer that answers as one does, and its keys', async () => {
  const paths: string[] = [];
  const { code, out } = await doctorWithIssuer((path, root) => {
    paths.push(path);
    return path === '/keys' ? { keys: [] } : { issuer: root, jwks_uri: `${root}/keys` };
  });
  expect(code).toBe(0);
  expect(out).toMatch(/^ready +settings +all are valid/m);
  expect(out).toMatch(/^ready +ports +the ports are free/m);
  expect(out).toMatch(/^ready +OIDC issuer +http:\/\/127\.0\.0\.1:\d+ answers$/m);
  expect(paths.at(-1)).toBe('/keys');
});

test.each<[string, Parameters<typeof doctorWithIssuer>[0], RegExp]>([
  ['never answers', () => undefined, /no answer in time/],
  ['answers 500', () => 500, /unexpected HTTP response status code/],
  [
    'states another issuer',
    (_, root) => ({ issuer: 'https://other.example', jwks_uri: `${root}/keys` }),
    /does not match the expected issuer/,
  ],
  [
    'states a private address for its keys',
    (_, root) => ({ issuer: root, jwks_uri: 'https://10.0.0.1/keys' }),
    /the issuer states a URL that leads to an address that is neither public nor the host of the issuer/,
  ],
  [
    'answers 500 for its keys',
    (path, root) => (path === '/keys' ? 500 : { issuer: root, jwks_uri: `${root}/keys` }),
    /Expected 200 OK from the JSON Web Key Set/,
  ],
])('doctor reports an issuer that %s', async (_, answerTo, told) => {
  const { code, out } = await doctorWithIssuer(answerTo);
  const [line = ''] = /^.* OIDC issuer .*$/m.exec(out) ?? [];
  expect([code, line]).toEqual([1, expect.stringMatching(/^broken /)]);
  expect(line).toMatch(told);
});

test('doctor reports a data folder that is not a folder', async () => {
  writeFileSync(join(folder, 'plain'), '');
  const { code, out } = await sonant(['doctor'], '', { SONANT_DATA_DIR: 'plain' });
  expect(code).toBe(1);
  expect(out).toMatch(/^broken +data folder +.*plain is a file/m);
});

test('doctor reports a voice that two engines offer', async () => {
  const { url } = await openOpenAiServer({ voices: { voices: ['clara'] } });
  const env = { SONANT_DATA_DIR: 'own', SONANT_OPENAI_URL: url };
  const { code, out } = await sonant(['doctor'], '', env);
  expect(out).toMatch(/^broken +voices +voice clara of openai-compatible is left out: another engine has this id/m);
  expect(code).toBe(1);
  const said = await sonant(['say', 'Hi.', '-o', 'x.wav'], '', env);
  expect(said).toMatchObject({ code: 0 });
});

test('version, --version and -v print the version, and the program can be run by its name', async () => {
  for (const flag of ['version', '--version', '-v']) {
    const { code, out } = await program([flag]);
    expect([code, out]).toEqual([0, `${versionText()}\n`]);
  }
  for (const file of [main, join(main, '../..', packageFile.bin.sonant)])
    expect(statSync(file).mode & 0o111).toBe(0o111);
});

test('a broken optional engine fails only where it is required', async () => {
  const broken = join(folder, 'broken-library');
  mkdirSync(broken);
  writeFileSync(join(broken, 'libespeak-ng.so.1'), 'not a library');
  const env = { LD_LIBRARY_PATH: broken };
  expect((await sonant(['say', 'Hi.', '-o', 'hi.wav'], '', env)).code).toBe(0);
  const required = { ...env, SONANT_ESPEAK_LIBRARY: 'libespeak-ng.so.1' };
  expect((await sonant(['say', 'Hi.', '-o', 'hi.wav'], '', required)).code).toBe(1);
});

test('config prints what is in force and where it comes from', async () => {
  const { out } = await program(['config'], { SONANT_SPEAKING_MAX: '7' });
  expect(out).toMatch(/SONANT_SPEAKING_MAX +7 +environment/);
  expect((await sonant(['config', '--help'])).out).toContain('SONANT_DATA_DIR');
});

test.each(commands.map((command) => [command.name, command] as const))(
  'help %s prints what --help prints, with examples of options and actions that exist',
  async (name, command) => {
    const { code, out } = await sonant(['help', name]);
    expect([code, out]).toEqual([0, (await sonant([name, '--help'])).out]);
    for (const example of command.examples) {
      expect(out).toContain(`\n  ${example}\n`);
      const [, args = ''] = example.split(`sonant ${name}`);
      for (const [, option] of args.matchAll(/ --([a-z-]+)/g)) expect(Object.keys(command.options)).toContain(option);
      if (command.actions) expect(command.actions).toContain(/[a-z]+/.exec(args)?.[0]);
    }
  },
);

test.each(['', 'say', 'voice', 'doctor', 'config'])('sonant %s --help helps', async (command) => {
  const { code, out } = await sonant([...(command ? [command] : []), '--help']);
  expect(code).toBe(0);
  expect(out).toContain('Usage: sonant');
});

test('in a clone, files on the command line are in the folder of the user', async () => {
  const folder = newFolder();
  writeFileSync(join(folder, 'own.toml'), 'speaking_max = 7\n');
  const root = join(import.meta.dirname, '../../..');
  const run = (...args: string[]) =>
    promisify(execFile)('npm', ['--prefix', root, 'run', '-s', 'sonant', '--', ...args], {
      cwd: folder,
      env: { PATH: process.env.PATH, HOME: folder, SONANT_DATA_DIR: join(folder, 'data') },
    });
  await run('say', 'Hello.', '-o', 'here.wav');
  expect(readdirSync(folder)).toContain('here.wav');
  expect((await run('inspect', 'here.wav', '--json')).stdout).toContain('{');
  const { stdout } = await run('config', '--changed', '--json', '--config', 'own.toml');
  expect(JSON.parse(stdout).map(({ name }: { name: string }) => name)).toEqual(
    ['SONANT_DATA_DIR', 'SONANT_SPEAKING_MAX'].sort(),
  );
  // Help and errors name commands as they are typed there.
  expect((await run('help', 'key')).stdout).toMatch(/^Usage: npm run -s sonant -- key create/);
  const refused = await run('voice', 'get', 'nosuch').catch(({ stderr }: { stderr: string }) => stderr);
  expect(refused).toContain('; npm run -s sonant -- voice models lists the models');
});
