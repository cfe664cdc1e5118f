// Tests deploy/ against the service: its settings, ports and versions exist, its grace periods are long enough, and the
// app of Home Assistant starts. deploy.programs.ts runs the balancer before two replicas, image.long.ts the image.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { SaxesParser } from 'saxes';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { firstKeyScopes } from '../src/accounts/keys/caller.ts';
import { allSettings, loadConfig } from '../src/app/config.ts';
import { registry } from '../src/engines/registry.ts';
import { freePort, listen } from './free-port.ts';
import { newFolder } from './new-folder.ts';

const deploy = join(import.meta.dirname, '../deploy');

test('the settings that are named there exist', () => {
  const known = new Set<string>(allSettings(registry).map(({ name }) => name));
  const files = globSync('**', { cwd: deploy, withFileTypes: true }).filter((file) => file.isFile());
  const named = files.flatMap(({ parentPath, name }) =>
    [...readFileSync(join(parentPath, name), 'utf8').matchAll(/SONANT_[A-Z0-9_]*/g)].map(([setting]) => setting),
  );
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((name) => !known.has(name))).toEqual([]);
});

test('the grace period of a replica exceeds its time to drain', () => {
  const numberIn = (pattern: RegExp, files: readonly string[], fallback?: number) => {
    const [, found] = pattern.exec(files.map((file) => readFileSync(join(deploy, file), 'utf8')).join('')) ?? [];
    return Number(found ?? fallback);
  };
  const drainSeconds = loadConfig({ env: {}, folder: deploy, engines: [] }).drainSeconds;
  for (const [given, ...files] of [
    [
      /^ *terminationGracePeriodSeconds: (\d+)$/m,
      'kubernetes/base/deployment.yaml',
      'kubernetes/base/kustomization.yaml',
    ],
    [/^ *stop_grace_period: (\d+)s$/m, 'compose.yaml'],
  ] as const) {
    const leave = numberIn(/SONANT_LEAVE_SECONDS(?:: "|=)(\d+)/, files);
    const drain = numberIn(/SONANT_DRAIN_SECONDS(?:: "|=)(\d+)/, files, drainSeconds);
    expect(leave).toBeGreaterThanOrEqual(4);
    expect(numberIn(given, files)).toBeGreaterThanOrEqual(leave + drain + 5);
  }
});

const read = (file: string) => readFileSync(join(deploy, file), 'utf8');
const { version } = JSON.parse(read('../package.json'));
/** Ports that the image exposes, and ports that settings in its files open. */
const exposed = /^EXPOSE (.*)$/m.exec(read('Dockerfile'))![1]!.split(' ');

test('every version of the image there is that of the package', () => {
  const files = globSync('**/*.{yaml,xml}', { cwd: deploy }).map(read);
  const versions = [...files, read('home-assistant/sonant/Dockerfile')].flatMap((text) => [
    ...text.matchAll(/\bsonant:(\d\S*?)[\s<]|^(?: *newTag| *version): (\d.*)$/gm),
  ]);
  expect(versions.length).toBeGreaterThan(5);
  expect(versions.map(([, image, field]) => image ?? field).filter((each) => each !== version)).toEqual([]);
});

test('the app of Home Assistant describes each option and port, and its address is in the image', () => {
  const { schema, ports, webui, watchdog, arch, discovery } = parse(read('home-assistant/sonant/config.yaml'));
  expect(arch).toEqual(['amd64', 'aarch64']);
  expect(discovery).toEqual(['wyoming']);
  const opened = [...exposed, /0\.0\.0\.0:(\d+)/.exec(read('home-assistant/sonant/run.js'))![1]];
  for (const port of Object.keys(ports)) expect(opened).toContain(port.replace('/tcp', ''));
  for (const [, port] of `${webui}${watchdog}`.matchAll(/\[PORT:(\d+)\]/g))
    expect(ports).toHaveProperty([`${port}/tcp`]);
  const run = read('home-assistant/sonant/run.js');
  expect([...new Set(run.matchAll(/(?<!')options\.(\w+)/g).map(([, name]) => name))].sort()).toEqual(
    Object.keys(schema).sort(),
  );
  for (const language of ['de', 'en']) {
    const texts = parse(read(`home-assistant/sonant/translations/${language}.yaml`));
    expect(Object.keys(texts.configuration)).toEqual(Object.keys(schema));
    expect(Object.keys(texts.network)).toEqual(Object.keys(ports));
  }
});

test('the app of Home Assistant speaks over Wyoming with its own key, and is announced', {
  timeout: 60_000,
}, async () => {
  const folder = newFolder();
  writeFileSync(join(folder, 'options.json'), JSON.stringify({ default_voice: 'arthur' }));
  const announced = Promise.withResolvers<unknown>();
  const supervisor = createServer(async (request, response) => {
    announced.resolve([request.method, request.url, request.headers.authorization, await json(request)]);
    response.end('{}');
  });
  onTestFinished(() => void supervisor.close());
  const supervisorUrl = `http://127.0.0.1:${await listen(supervisor)}`;
  const wyoming = await freePort();
  const http = await freePort();
  const { PATH } = process.env;
  const args = [folder, join(deploy, '..'), String(process.getuid!()), supervisorUrl];
  const app = spawn(process.execPath, [join(deploy, 'home-assistant/sonant/run.js'), ...args], {
    env: {
      PATH,
      SUPERVISOR_TOKEN: 'token',
      SONANT_FETCH_VOICE: 'off',
      SONANT_WYOMING_ADDR: `127.0.0.1:${wyoming}`,
      SONANT_HTTP_ADDR: `127.0.0.1:${http}`,
      SONANT_GRPC_ADDR: `127.0.0.1:${await freePort()}`,
    },
  });
  const ended = once(app, 'exit');
  expect(await announced.promise).toEqual([
    'POST',
    '/discovery',
    'Bearer token',
    { service: 'wyoming', config: { uri: `tcp://${hostname()}:${wyoming}` } },
  ]);
  const said = execFileSync(
    process.execPath,
    [join(deploy, '../examples/home-assistant/say.ts'), `127.0.0.1:${wyoming}`],
    {
      cwd: folder,
      encoding: 'utf8',
    },
  );
  expect(said).toMatch(/whole\.wav: [1-9]/);
  const headers = { 'x-api-key': readFileSync(join(folder, 'console-key'), 'utf8') };
  const listed = await fetch(`http://127.0.0.1:${http}/api/auth/api-keys`, { headers });
  const { api_keys: keys } = (await listed.json()) as { api_keys: { name: string; scopes: string[] }[] };
  const scopesOf = (name: string) => keys.find((key) => key.name === name)?.scopes.toSorted();
  expect(scopesOf('console')).toEqual(firstKeyScopes.toSorted());
  expect(scopesOf('Home Assistant')).toEqual(['speech:stream', 'voices:read']);
  app.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
});

test('the catalogues name what the image has', () => {
  const { services, volumes, 'x-casaos': store } = parse(read('catalogues/casaos.yaml'));
  const { ports, volumes: mounts } = services[store.main];
  const published = ports.map(({ target, published }: { target: number; published: string }) => [target, published]);
  for (const [target] of published) expect(exposed).toContain(String(target));
  expect(published).toContainEqual([8080, store.port_map]);
  expect(mounts).toEqual([{ type: 'volume', source: Object.keys(volumes)[0], target: '/data' }]);
  expect(store.id).toMatch(/^[a-z0-9_-]+(\.[a-z0-9_-]+)+$/);

  const names: string[] = [];
  const configs: Record<string, string>[] = [];
  const parser = new SaxesParser();
  parser.on('opentag', ({ name, attributes }) => {
    names.push(name);
    if (name === 'Config') configs.push(attributes as Record<string, string>);
  });
  parser.write(read('catalogues/unraid.xml')).close();
  expect(names[0]).toBe('Container');
  const targets = (type: string) => configs.filter(({ Type }) => Type === type).map(({ Target }) => Target);
  for (const port of targets('Port')) expect(exposed).toContain(port);
  expect(targets('Path')).toEqual(['/data']);
  expect(targets('Variable').every((name) => name!.startsWith('SONANT_'))).toBe(true);
});
