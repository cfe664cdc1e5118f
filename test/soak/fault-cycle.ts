// Causes faults in an installation, one after the other, each for several seconds, with pauses in between: a replica
// killed or stopped, stores that are killed, frozen, full, cut off or silent, and engines that stall, break off and
// fail. Only calls affected by a fault may be refused, and only as documented.
import { setTimeout as sleep } from 'node:timers/promises';
import type { openGoogleServer } from '../engines/google-server.ts';
import type { openOpenAiServer, ServerTrouble } from '../engines/openai-server.ts';
import type { Outcome } from './checked-requests.ts';
import { type Installation, startAgain } from './open-installation.ts';

export interface FaultWindow {
  name: string;
  beganMs: number;
  endedMs: number;
  /** How long calls may still be affected after the fault. */
  graceMs: number;
  /** The affected APIs, if not all. */
  apis?: readonly string[];
}

export interface Fault extends Pick<FaultWindow, 'name' | 'apis'> {
  lastsMs: number;
  graceMs?: number;
  begin(): unknown;
  end(): unknown;
}

export interface Engines {
  openai: Awaited<ReturnType<typeof openOpenAiServer>>;
  google: Awaited<ReturnType<typeof openGoogleServer>>;
}

const usualGraceMs = 15_000;
/** Time until the circuit breaker of a failed engine allows another try. */
const engineGraceMs = 75_000;
const calmMs = 30_000;

/** The replica that is killed and restarted; the other replicas live as long as the soak. */
export const killedReplica = 1;

/** Faults of replicas and stores. */
export function faultsOf({ replicas, postgres, s3, wires }: Installation): Fault[] {
  const killed = replicas[killedReplica]!;
  const cut = (wire: keyof typeof wires, how: 'reset' | 'silence', lastsMs = 6_000): Fault => ({
    ...{ name: `the network to ${wire}: ${how}`, lastsMs },
    begin: () => wires[wire][how](),
    end: () => wires[wire].heal(),
  });
  return [
    {
      ...{ name: 'a replica is killed (kill -9)', lastsMs: 4_000 },
      begin: () => killed.end('SIGKILL'),
      end: () => killed.start(),
    },
    {
      ...{ name: 'PostgreSQL is killed (kill -9)', lastsMs: 5_000 },
      begin: () => postgres.kill('SIGKILL'),
      end: () => startAgain(postgres),
    },
    {
      ...{ name: 'S3 answers 503', lastsMs: 10_000 },
      begin: () => Object.assign(s3, { faultOf: () => ({ kind: 'answer', status: 503, code: 'ServiceUnavailable' }) }),
      end: () => Object.assign(s3, { faultOf: () => undefined }),
    },
    {
      ...{ name: 'a replica is stopped (SIGTERM) and started', lastsMs: 0 },
      begin: () => killed.end('SIGTERM'),
      end: () => killed.start(),
    },
    cut('postgres', 'silence', 10_000),
    cut('s3', 'reset'),
    cut('postgres', 'reset'),
  ];
}

function engineFaultsOf({ openai, google }: Engines): Fault[] {
  const engine = (name: string, trouble: ServerTrouble): Fault => {
    const usual = { ...openai.state.trouble };
    return {
      ...{ name: `the engine elsewhere ${name}`, lastsMs: 8_000, graceMs: engineGraceMs, apis: ['engine elsewhere'] },
      begin: () => Object.assign(openai.state, { trouble: { ...usual, ...trouble } }),
      end: () => Object.assign(openai.state, { trouble: usual }),
    };
  };
  return [
    engine('stalls in the middle', { stallAfterBytes: 20_000 }),
    engine('breaks off', { cutAfterBytes: 20_000 }),
    engine('answers 500', { failures: { count: 1e9, status: 500 } }),
    {
      ...{ name: 'Google is away', lastsMs: 8_000, graceMs: engineGraceMs, apis: ['clone'] },
      begin: () => Object.assign(google.state.trouble, { isDown: true }),
      end: () => Object.assign(google.state.trouble, { isDown: false }),
    },
  ];
}

/** Repeats the faults until stopped. The window of a fault stays open until the fault is over. */
export function startFaults(installation: Installation, engines: Engines) {
  const windows: FaultWindow[] = [];
  const stopping = new AbortController();
  const faults = [...faultsOf(installation), ...engineFaultsOf(engines)];
  const run = async () => {
    for (let n = 0; !stopping.signal.aborted; n++) {
      const { name, lastsMs, graceMs = usualGraceMs, apis, begin, end } = faults[n % faults.length]!;
      const window: FaultWindow = {
        name,
        beganMs: performance.now(),
        endedMs: Infinity,
        graceMs,
        ...(apis && { apis }),
      };
      windows.push(window);
      await begin();
      await sleep(lastsMs);
      await end();
      window.endedMs = performance.now();
      console.log(`${name}: for ${((window.endedMs - window.beganMs) / 1000).toFixed(1)} s`);
      await sleep((apis ? usualGraceMs : graceMs) + calmMs, undefined, stopping).catch(() => {});
    }
  };
  const running = run();
  return {
    windows,
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

/** The fault that may have affected a call. */
export const faultOf = (
  windows: readonly FaultWindow[],
  { api, beganMs, endedMs }: Outcome & { api: string },
): FaultWindow | undefined =>
  windows.find(
    (window) =>
      beganMs < window.endedMs + window.graceMs &&
      endedMs > window.beganMs &&
      (window.apis === undefined || window.apis.includes(api)),
  );
