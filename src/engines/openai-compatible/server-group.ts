// Several equal servers as one: each request goes to the healthy server with the fewest requests in progress. A server that
// fails is skipped for a while, longer each time; when all are skipped, the one that returns first is tried. Requests that
// were under way together fail together, which counts once.
import { Failure } from '../../errors.ts';
import { ServerFull } from './server-full.ts';
import type { SpeechServer } from './speech-server.ts';

interface Member {
  server: SpeechServer;
  underWay: number;
  failures: number;
  outUntilMs: number;
}

const outMsFirst = 1_000;
const outMsMax = 60_000;

export function createServerGroup(
  servers: readonly SpeechServer[],
  now: () => number = () => performance.now(),
): SpeechServer {
  const members = servers.map((server): Member => ({ server, underWay: 0, failures: 0, outUntilMs: 0 }));
  let turn = 0;

  const choose = (): Member => {
    // Of those that are equal, one after the other.
    turn = (turn + 1) % members.length;
    const inTurn = [...members.slice(turn), ...members.slice(0, turn)];
    const inHealth = inTurn.filter(({ outUntilMs }) => outUntilMs <= now());
    const soonest = () => inTurn.toSorted((a, b) => a.outUntilMs - b.outUntilMs)[0]!;
    return inHealth.toSorted((a, b) => a.underWay - b.underWay)[0] ?? soonest();
  };
  /** Of a request that began before the server was last put out, the failure tells nothing new. */
  const note = (member: Member, outUntilMs: number, error: unknown) => {
    if (!isOfServer(error) || member.outUntilMs !== outUntilMs) return;
    member.outUntilMs = now() + Math.min(outMsFirst * 2 ** member.failures, outMsMax);
    member.failures++;
  };

  return {
    async *speak(request, signal) {
      const member = choose();
      const { outUntilMs } = member;
      member.underWay++;
      try {
        yield* member.server.speak(request, signal);
        member.failures = 0;
      } catch (error) {
        if (!signal.aborted || signal.reason instanceof Failure) note(member, outUntilMs, error);
        throw error;
      } finally {
        member.underWay--;
      }
    },
    async listVoices(signal) {
      const member = choose();
      const { outUntilMs } = member;
      try {
        return await member.server.listVoices(signal);
      } catch (error) {
        note(member, outUntilMs, error);
        throw error;
      }
    },
    uploadClone: (clone, signal) => choose().server.uploadClone(clone, signal),
    async deleteClone(name, signal) {
      const ends = await Promise.allSettled(members.map(({ server }) => server.deleteClone(name, signal)));
      const failed = ends.find((end) => end.status === 'rejected');
      if (failed) throw failed.reason;
    },
  };
}

/** Whether the failure is the server's, and not that of the request: it is away, too slow, or breaks off. */
const isOfServer = (error: unknown): boolean =>
  error instanceof Failure &&
  !(error instanceof ServerFull) &&
  (error.reason === 'engine_unavailable' ||
    error.reason === 'engine_timeout' ||
    error.facts.retryAfterSeconds !== undefined);
