// Starts Sonant as an app of Home Assistant: reads its options, creates a key for Home Assistant and one for the console,
// installs the chosen model, and announces the Wyoming protocol. The Supervisor owns the data folder, so this runs as root,
// and Sonant as the user with the given number.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const [folder, app, user, supervisor] = process.argv.slice(2);
const uid = Number(user);
const options = JSON.parse(readFileSync(join(folder, 'options.json'), 'utf8'));
const dataDir = join(folder, 'sonant');
mkdirSync(dataDir, { recursive: true, mode: 0o700 });
chownSync(dataDir, uid, uid);

const { SUPERVISOR_TOKEN: token, SONANT_WYOMING_ADDR: address = '0.0.0.0:10200', ...inherited } = process.env;
const env = { ...inherited, HOME: dataDir, SONANT_DATA_DIR: dataDir };
const start = (args, more, out = 'inherit') => {
  const settings = { cwd: dataDir, env: { ...env, ...more }, uid, gid: uid };
  return spawn(process.execPath, [join(app, 'src/sonant.js'), ...args], {
    ...settings,
    stdio: ['ignore', out, 'inherit'],
  });
};

/** The key in the file; makes it at the first start. */
async function findKey(file, name, scopes) {
  const path = join(folder, file);
  if (!existsSync(path)) {
    const child = start(['key', 'create', '--name', name, '--scopes', scopes], {}, 'pipe');
    const [key] = /^snt_\S+$/m.exec((await child.stdout.toArray()).join('')) ?? [];
    if (key === undefined) throw new Error('Sonant created no key');
    writeFileSync(path, key, { mode: 0o600 });
    if (file === 'console-key') process.stdout.write(`The key for the console, which is shown only now: ${key}\n`);
  }
  return readFileSync(path, 'utf8');
}

// Keys need a database, which otherwise the service would create later.
await once(start(['db', 'migrate']), 'exit');
const wyomingKey = await findKey('wyoming-key', 'Home Assistant', 'speech:stream,voices:read');
const read = 'voices:read,jobs:read,keys:read,usage:read';
await findKey(
  'console-key',
  'console',
  `admin,speech:synthesize,speech:stream,voices:write,jobs:write,keys:write,${read}`,
);
if (options.model) {
  // The description of the option names the licence of the library that --yes accepts.
  const accepted = options.accept_licence ? ['--yes', '--accept-licence'] : ['--yes'];
  const [code] = await once(start(['voice', 'get', options.model, '--default', ...accepted]), 'exit');
  if (code !== 0) process.stderr.write(`The model ${options.model} is not installed; Sonant starts without it.\n`);
}

const service = start(['serve'], {
  SONANT_WYOMING_ADDR: address,
  SONANT_WYOMING_KEY: wyomingKey,
  // The network of the Supervisor, from which Home Assistant connects.
  SONANT_WYOMING_ALLOW: '172.30.32.0/23',
  ...(options.default_voice && { SONANT_DEFAULT_VOICE: options.default_voice }),
});
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => service.kill(signal));
service.once('exit', (code) => process.exit(code ?? 1));

const port = Number(address.split(':').at(-1));
while (!(await isOpen(port))) await sleep(500);
const answer = await fetch(`${supervisor}/discovery`, {
  method: 'POST',
  headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
  body: JSON.stringify({ service: 'wyoming', config: { uri: `tcp://${hostname()}:${port}` } }),
}).catch((error) => ({ ok: false, status: error.message }));
if (!answer.ok) process.stderr.write(`Home Assistant was not told where Sonant is: ${answer.status}\n`);

async function isOpen(port) {
  const socket = createConnection(port, '127.0.0.1');
  return once(socket, 'connect').then(
    () => !!socket.destroy(),
    () => false,
  );
}
