// Tests an earlier version from its own commit (BEFORE) beside this version: two replicas on one PostgreSQL and S3
// under load, upgraded one after the other, rolled back, and upgraded again, with clients of both versions; and one
// process on SQLite that is restarted in the other version and back. Nothing fails, and nothing acknowledged is lost.
// What a killed process of the earlier version leaves is there in this version, on SQLite and PostgreSQL; RECORD=1 only
// records it for test/upgrade.test.ts.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SpeechService } from '../../gen/sonant/v1/speech_pb.ts';
import { main } from '../app/cli/sonant-program.ts';
import { startPostgres } from '../platform/store/postgres-server.ts';
import { expectAllThere, leaveInstallation, openReceiver, settingsOf } from '../upgrade/left-installation.ts';
import { record } from '../upgrade/recorded-installation.ts';
import { openApiClients } from './api-clients.ts';
import { Watch } from './checked-requests.ts';
import { type CheckingClient, type Kind, kinds, openCheckingClient } from './checking-client.ts';
import { expectSound, joinSounds, type KnownSounds, learnSounds } from './known-sounds.ts';
import { startLoad, tallyOf } from './load.ts';
import { type CheckedInstallation, openCheckedInstallation } from './open-checked-installation.ts';
import { makeKey, openService, type Service } from './open-service.ts';

interface VersionBefore {
  commit: string;
  /** Path of that version's main program. */
  main: string;
  /** The speech service in that version's stubs. */
  service: typeof SpeechService;
  remove(): void;
}

const root = join(import.meta.dirname, '../..');
const git = (...args: string[]) => execFileSync('git', args, { cwd: root, maxBuffer: 1 << 28 });
const readJson = (path: string) => JSON.parse(readFileSync(path, 'utf8'));

async function openVersionBefore(name: string): Promise<VersionBefore> {
  const commit = git('rev-parse', '--short', `${name}^{commit}`).toString().trim();
  const folder = mkdtempSync(join(tmpdir(), 'sonant-soak-before-'));
  const remove = () => rmSync(folder, { recursive: true });
  execFileSync('tar', ['-x', '-C', folder], { input: git('archive', commit) });
  const { dependencies } = readJson(join(folder, 'package.json')) as { dependencies: Record<string, string> };
  const others = Object.entries(dependencies).some(([each, version]) => {
    const path = join(root, 'node_modules', each, 'package.json');
    return !existsSync(path) || readJson(path).version !== version;
  });
  if (others) execFileSync('npm', ['ci', '--omit=dev'], { cwd: folder });
  else symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const { SpeechService: service } = await import(join(folder, 'gen/sonant/v1/speech_pb.ts'));
  return { commit, main: join(folder, 'src/main.ts'), service, remove };
}

/** By default, BEFORE is the commit from forty merges ago. */
const {
  BEFORE = execFileSync('git', ['rev-list', '--first-parent', '-n', '1', '--skip', '40', 'HEAD']).toString().trim(),
} = process.env;
/** Time until the balancer notices that a replica is available again, plus a while with both versions. */
const besideMs = 6_000;
/** Calls of a client that uses the earlier version's gRPC stubs. */
const oldCallers: readonly Kind[] = ['grpc', 'grpc stream', 'link'];

const opened = new AsyncDisposableStack();
let before: VersionBefore;
let soundsAfter: KnownSounds;
beforeAll(async () => {
  before = await openVersionBefore(BEFORE);
  opened.defer(before.remove);
  const service = await openService();
  soundsAfter = await learnSounds((path, body) => service.ask(path, { body }));
  await service.close();
}, 600_000);
afterAll(() => opened.disposeAsync());

/** Cuts an event stream, and resumes it at any replica that the balancer chooses. */
async function resume(installation: CheckedInstallation): Promise<string> {
  const apis = openApiClients({ ...installation, wyomingPorts: [] });
  const { outcome } = await new Watch().outcomeOf(apis.apis['events resumed']!);
  apis.close();
  return outcome;
}

test(
  `${BEFORE.slice(0, 7)} and this version on PostgreSQL and S3`,
  async () => {
    const versions = [before.main, before.main];
    const installation = await openCheckedInstallation(
      2,
      { mainOf: (n) => versions[n]!, settings: { SONANT_DRAIN_SECONDS: '300' } },
      (sounds) => joinSounds(sounds, soundsAfter),
    );
    opened.defer(() => installation.close());
    const { url, target, key, sounds, replicas, client } = installation;
    const old = openCheckingClient({ url, target, key, sounds, service: before.service });
    opened.defer(() => old.close());
    const loads = [startLoad(client, kinds), startLoad(old, oldCallers)];
    const resumed: string[] = [];
    const change = async (n: number, version: string) => {
      versions[n] = version;
      expect(await replicas[n]!.end('SIGTERM')).toBe(0);
      await replicas[n]!.start();
      await sleep(besideMs);
      resumed.push(await resume(installation));
    };
    await sleep(besideMs);
    await change(0, main);
    const job = await makeJob(url, key, replicas[0]!.httpPort);
    await change(1, main);
    await change(0, before.main);
    await change(1, before.main);
    await change(0, main);
    await change(1, main);
    const calls = (await Promise.all(loads.map((load) => load.stop()))).flat();
    const said = replicas.map((replica) => replica.said()).join('');
    console.log(
      `${before.commit} and this version: upgraded, rolled back and upgraded again, replica by replica: ${tallyOf(calls)}; ` +
        `${resumed.length} cut streams read on: ${[...new Set(resumed)].join(', ')}; ${await installation.checkAcknowledged()}`,
    );
    expect(calls.filter(({ outcome }) => outcome !== 'ok').map(({ kind, outcome }) => `${kind}: ${outcome}`)).toEqual(
      [],
    );
    expect(new Set(resumed)).toEqual(new Set(['ok']));
    await expect.poll(() => statusOf(url, key, job), { timeout: 120_000 }).toBe('succeeded');
    for (const { path, sounds: right } of old.acknowledged.links)
      await expectSound(await fetch(url + path), right, path);
    expect(said).not.toContain('"level":"error"');
  },
  30 * 60_000,
);

/** Creates a job at a replica that has jobs; the earlier version may lack them, and would ignore this job. */
async function makeJob(url: string, key: string, port: number): Promise<string> {
  const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' };
  const body = JSON.stringify({ voice_id: 'arthur', chapters: [{ title: 'One', text: 'The end. '.repeat(200) }] });
  const answer = await fetch(`http://127.0.0.1:${port}/api/audio/jobs`, { method: 'POST', headers, body });
  expect([answer.status, url]).toEqual([202, url]);
  return ((await answer.json()) as { id: string }).id;
}

async function statusOf(url: string, key: string, id: string): Promise<string> {
  const answer = await fetch(`${url}/api/audio/jobs/${id}`, { headers: { 'X-API-Key': key } });
  return ((await answer.json()) as { status: string }).status;
}

test(`${BEFORE.slice(0, 7)} and this version on SQLite, one after the other`, async () => {
  const run: string[] = [];
  let service: Service = await openService({ main: before.main });
  const scopes = ['speech:synthesize', 'speech:stream', 'voices:read', 'keys:write', 'usage:read'];
  const key = makeKey(service.dataDir, ['--scopes', scopes.join(',')], before.main);
  const left = { dataDir: service.dataDir, key };
  const learn = () => learnSounds((path, body) => service.ask(path, { body }));
  const sounds = joinSounds(await learn(), soundsAfter);
  const clients: CheckingClient[] = [];
  const links = () => clients.flatMap(({ acknowledged }) => acknowledged.links);
  const useAll = async (version: string) => {
    const client = openCheckingClient({
      url: service.url,
      target: `127.0.0.1:${service.grpcPort}`,
      key: left.key,
      sounds,
    });
    clients.push(client);
    for (const kind of kinds) expect((await client.call(kind)).outcome, `${kind} in ${version}`).toBe('ok');
    client.close();
    for (const { path, sounds: right } of links())
      await expectSound(await service.ask(path), right, `${path} in ${version}`);
    for (const key of clients.flatMap(({ acknowledged }) => acknowledged.keys))
      expect((await service.ask('/api/voices', { headers: { 'X-API-Key': key } })).status).toBe(200);
    run.push(version);
  };
  await useAll('the version before');
  for (const [version, program] of [
    ['this version', main],
    ['the version before, again', before.main],
    ['this version, again', main],
  ] as const) {
    await service.stop();
    service = await openService({ left, main: program });
    await useAll(version);
  }
  console.log(`SQLite: ${run.join(', ')}: ${links().length} links and ${clients.length} keys, all there`);
  expect(service.said()).not.toContain('"level":"error"');
  await service.close();
});

test.each(['sqlite', 'postgres'])(`what ${BEFORE.slice(0, 7)} leaves when it is killed is there: %s`, async (name) => {
  const server = name === 'postgres' ? await startPostgres() : undefined;
  opened.defer(() => server?.stop());
  const databaseUrl = await server?.createDatabase();
  const settings = settingsOf(databaseUrl);
  const dataDir = mkdtempSync(join(tmpdir(), 'sonant-soak-left-'));
  opened.defer(() => rmSync(dataDir, { recursive: true }));
  const away = await openReceiver();
  await away.close();
  const left = await leaveInstallation({ main: before.main, dataDir, settings }, away.url);
  if (process.env.RECORD)
    return record(name, dataDir, { ...left, receiver: away.url, leftAtMs: Date.now() }, databaseUrl);
  const receiver = await openReceiver(Number(new URL(away.url).port));
  opened.defer(receiver.close);
  const service = await openService({ settings, left: { dataDir, key: left.keys[0]!.key } });
  opened.defer(() => service.stop());
  await expectAllThere(service, left, receiver);
  console.log(`${name}: keys, clip, lexicon, jobs and webhooks of ${before.commit}: all there`);
});
