// Starts a complete Ceph on loopback from Debian's packages: one monitor, one object store in memory, and the S3
// gateway. It starts in two seconds, stores everything in a folder, and exits with the process that started it.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePort } from '../../free-port.ts';

export interface Ceph {
  endpoint: string;
  accessKeyId: string;
  secretAccessKey: string;
  /** The configuration file for `radosgw-admin`. */
  conf: string;
}

const run = promisify(execFile);
const commandMs = 20_000;
const startMs = 60_000;

export async function startCeph(folder: string): Promise<Ceph & { stop(): Promise<void> }> {
  for (const part of ['mon', 'osd', 'run', 'log']) mkdirSync(join(folder, part), { recursive: true });
  const [monitorPort, gatewayPort] = [await freePort(), await freePort()];
  const conf = join(folder, 'ceph.conf');
  const cluster = randomUUID();
  writeFileSync(conf, confOf(folder, { cluster, monitorPort, gatewayPort }));
  const ceph = (program: string, ...args: string[]) => run(program, ['-c', conf, ...args], { timeout: commandMs });
  const daemons: ChildProcess[] = [];
  const start = (program: string, ...args: string[]) => {
    const log = openSync(join(folder, 'log', `${program}.out`), 'w');
    // Each daemon is killed when this process exits for any reason.
    const line = ['--pdeathsig', 'KILL', program, '-c', conf, '-f', ...args];
    daemons.push(spawn('setpriv', line, { stdio: ['ignore', log, log] }));
  };
  const stop = async () => {
    const ends = daemons.filter(({ exitCode }) => exitCode === null).map((daemon) => once(daemon, 'exit'));
    for (const daemon of daemons) daemon.kill('SIGKILL');
    await Promise.all(ends);
  };
  try {
    await makeKeyring(join(folder, 'keyring'));
    const map = join(folder, 'monmap');
    const at = `[v2:127.0.0.1:${monitorPort}]`;
    await run('monmaptool', ['--create', '--addv', 'a', at, '--fsid', cluster, map], { timeout: commandMs });
    await ceph('ceph-mon', '--mkfs', '-i', 'a', '--monmap', map, '--keyring', join(folder, 'keyring'));
    start('ceph-mon', '-i', 'a');
    const disk = randomUUID();
    await until(() => ceph('ceph', '--connect-timeout', '5', 'osd', 'create', disk));
    await ceph('ceph-osd', '-i', '0', '--mkfs', '--osd-uuid', disk);
    start('ceph-osd', '-i', '0');
    start('radosgw', '-n', 'client.rgw');
    const endpoint = `http://127.0.0.1:${gatewayPort}`;
    await until(async () => (await fetch(endpoint)).arrayBuffer());
    const [accessKeyId, secretAccessKey] = [randomBytes(10).toString('hex'), randomBytes(20).toString('hex')];
    const user = ['--uid', 'sonant', '--display-name', 'sonant', '--access-key', accessKeyId];
    await ceph('radosgw-admin', 'user', 'create', ...user, '--secret-key', secretAccessKey);
    return { endpoint, accessKeyId, secretAccessKey, conf, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Limits the number of objects in a bucket; a negative number means no limit. */
export async function limitObjects({ conf }: Pick<Ceph, 'conf'>, bucketName: string, max: number): Promise<void> {
  const admin = (...args: string[]) =>
    run('radosgw-admin', ['-c', conf, 'quota', ...args, '--quota-scope=bucket', `--bucket=${bucketName}`]);
  await admin('set', `--max-objects=${max}`);
  await admin('enable');
}

const confOf = (folder: string, ids: { cluster: string; monitorPort: number; gatewayPort: number }) => `
[global]
fsid = ${ids.cluster}
mon host = v2:127.0.0.1:${ids.monitorPort}/0
mon initial members = a
public network = 127.0.0.0/8
ms bind ipv6 = false
auth cluster required = cephx
auth service required = cephx
auth client required = cephx
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
mon max pg per osd = 1000
mon data avail warn = 1
paxos propose interval = 0.05
paxos min wait = 0.01
run dir = ${folder}/run
admin socket = ${folder}/run/$name.asok
pid file = ${folder}/run/$name.pid
log file = ${folder}/log/$name.log
keyring = ${folder}/keyring
[mon.a]
mon data = ${folder}/mon
[osd.0]
osd data = ${folder}/osd
osd objectstore = memstore
memstore device bytes = 8589934592
[client.rgw]
rgw frontends = beast endpoint=127.0.0.1:${ids.gatewayPort} tcp_nodelay=1
rgw enable usage log = false
rgw bucket quota ttl = 0
`;

/** A keyring for all daemons, created before the monitor runs: the gateway insists on cephx. */
async function makeKeyring(file: string): Promise<void> {
  const all = ['--cap', 'osd', 'allow *', '--cap', 'mgr', 'allow *', '--cap', 'mds', 'allow *'];
  const names = { 'mon.': [], 'client.admin': all, 'client.rgw': all, 'osd.0': all };
  for (const [name, caps] of Object.entries(names)) {
    const create = name === 'mon.' ? ['--create-keyring'] : [];
    await run('ceph-authtool', [file, ...create, '--gen-key', '-n', name, '--cap', 'mon', 'allow *', ...caps]);
  }
}

async function until(work: () => Promise<unknown>): Promise<void> {
  const giveUpAt = Date.now() + startMs;
  for (;;) {
    try {
      return void (await work());
    } catch (error) {
      if (Date.now() > giveUpAt) throw error;
      await sleep(100);
    }
  }
}
