// Several servers that act as one. A request goes to the server with the fewest requests of this process under way; a
// clone goes to servers that have spoken it. A full server is skipped for a while, and a failed one
// for a growing time. A new or failed server must speak a test sentence before it gets requests. A server whose address
// is gone finishes its streams.
import { hash } from 'node:crypto';
import { Failure } from '../../platform/errors.ts';
import { secondsOf } from '../../platform/pcm.ts';
import { isTimeout, onAbort, withAbort } from '../../platform/runtime/abort.ts';
import type { EngineServer, SpokenPcm } from '../engine.ts';
import { type AddressOptions, watchAddresses } from './server-addresses.ts';
import { ServerFull } from './server-full.ts';
import type { SpeechRequest, SpeechServer } from './speech-server.ts';

// Measures whether a listener could play a stream without a gap. A gap arises when a piece of audio arrives after all
// earlier audio has been played.

/** Playback state of one stream. */
class Playback {
  /** Time to the first audio; undefined before it. */
  firstSoundMs: number | undefined;
  /** The sum of the gaps so far. */
  underrunSeconds = 0;
  #receivedSeconds = 0;
  #elapsedSeconds = 0;

  /** Counts a piece of audio that arrived after a wait. The wait excludes time in which the reader was not reading. */
  add(waitedMs: number, seconds: number): void {
    if (this.firstSoundMs === undefined) this.firstSoundMs = waitedMs;
    else this.#elapsedSeconds += waitedMs / 1000;
    this.underrunSeconds = Math.max(this.underrunSeconds, this.#elapsedSeconds - this.#receivedSeconds);
    this.#receivedSeconds += seconds;
  }
}

export interface ServerGroupOptions extends AddressOptions {
  createServer(url: string): SpeechServer;
  requestsAtOnce: number;
  now?: (() => number) | undefined;
  random?: (() => number) | undefined;
  /** Called when a stream from a server has ended or been aborted, with the total length of its gaps until then. */
  onStream?(server: string, ended: Pick<Playback, 'firstSoundMs' | 'underrunSeconds'>): void;
  /** Called when the server is no longer used. */
  onServerGone?(server: string): void;
}

interface ServerGroup extends SpeechServer {
  readonly servers: readonly EngineServer[];
  /** Number of requests that may be under way at all servers together. */
  readonly seats: number;
  close(): void;
}

class Member {
  readonly url: string;
  readonly name: string;
  readonly server: SpeechServer;
  outstanding = 0;
  waiting = 0;
  failures = 0;
  outUntilMs = 0;
  fullUntilMs = 0;
  /** Whether the server has to speak a test sentence before it gets requests. */
  isCold: boolean;
  isWarming = false;

  constructor(url: string, name: string, { createServer }: ServerGroupOptions, isCold: boolean) {
    this.url = url;
    this.name = name;
    this.server = createServer(url);
    this.isCold = isCold;
  }
}

const outMsFirst = 1_000;
const outMsMax = 60_000;
/** A server that sends nothing for this long is at fault. */
const silentMs = 25_000;
/** How long a full server is skipped if it states no delay. */
const fullMsUsual = 1_000;
const fullMsMax = 60_000;
export const warmUpText = 'This sentence is spoken before the first one.';
export const warmUpMsMax = 60_000;
const clonesKnownMax = 1_000;
/** Longest wait for a list of voices or an upload if there is another server to try. */
const answerMsMax = 8_000;

export function createServerGroup(options: ServerGroupOptions): ServerGroup {
  const { now = () => performance.now(), random = Math.random } = options;
  const { requestsAtOnce, onStream, onServerGone } = options;
  const closing = new AbortController();
  let members = new Map<string, Member>();
  /** Servers whose addresses are gone, and that still have streams to finish. */
  const draining = new Set<Member>();
  /** The servers that have spoken each clone; the least recently used clones are dropped. */
  const cloneServers = new Map<string, Set<Member>>();
  const all = () => [...members.values(), ...draining];

  const returning = (url: string): Member | undefined => {
    const member = [...draining].find((each) => each.url === url);
    if (member) member.isCold = draining.delete(member);
    return member;
  };
  /** Forgets the clones of a server that restarted or is gone. */
  const dropClones = (member: Member) => {
    for (const servers of cloneServers.values()) servers.delete(member);
  };
  const gone = (member: Member) => {
    dropClones(member);
    onServerGone?.(member.name);
  };
  const addresses = watchAddresses(options, (urls) => {
    const isFirst = members.size === 0;
    const before = members;
    members = new Map(
      urls.map((url) => [
        url,
        before.get(url) ?? returning(url) ?? new Member(url, nameOf(url, urls), options, !isFirst),
      ]),
    );
    for (const [url, member] of before) {
      if (members.has(url)) continue;
      if (member.outstanding > 0) draining.add(member);
      else gone(member);
    }
  });
  const known = async (): Promise<void> => {
    if (members.size > 0) return;
    await addresses.refresh().catch((cause) => {
      throw new Failure('engine_unavailable', { retryAfterSeconds: 0 }, cause);
    });
    if (members.size === 0) throw new Failure('engine_unavailable', { retryAfterSeconds: 0 });
  };

  /** Warm-ups repeat the settings of this request. It has no clone, since a clone may be revoked before the warm-up. */
  let lastRequest: SpeechRequest | undefined;
  // If no earlier request provides settings for a test sentence, a cold server gets requests at once.
  const isUp = (member: Member) => !(member.isCold && lastRequest) && member.outUntilMs <= now();
  const hasRoom = (member: Member) => member.outstanding < requestsAtOnce;
  const isDue = ({ isCold, isWarming, outUntilMs, fullUntilMs }: Member) =>
    isCold && !isWarming && Math.max(outUntilMs, fullUntilMs) <= now();
  const soonest = (from: Iterable<Member>, time: 'outUntilMs' | 'fullUntilMs') =>
    [...from].reduce((one, other) => (other[time] < one[time] ? other : one));

  const choose = (request: SpeechRequest): Member => {
    if (!request.clone) lastRequest = request;
    const up = [...members.values()].filter(isUp);
    if (up.length > 0) warmUpDue();
    // If all servers are skipped, the request goes to the server that is due first, and tests it.
    const asked = up.length > 0 ? up : [soonest(members.values(), 'outUntilMs')];
    const free = asked.filter(({ fullUntilMs }) => fullUntilMs <= now());
    if (free.length === 0) throw new ServerFull((soonest(asked, 'fullUntilMs').fullUntilMs - now()) / 1000, undefined);
    const roomy = free.filter(hasRoom);
    const home = request.clone ? homeOf(request.voice, roomy) : undefined;
    return home ?? leastBusy(roomy.length > 0 ? roomy : free);
  };
  /** Of several servers with equally few requests, one at random, so that replicas do not choose the same server. */
  const leastBusy = (from: readonly Member[]): Member => {
    const fewest = Math.min(...from.map(({ outstanding }) => outstanding));
    const idlest = from.filter(({ outstanding }) => outstanding === fewest);
    return idlest[Math.floor(random() * idlest.length)]!;
  };
  /** Returns a server that has the clone. If no server has the clone, all replicas choose the same server. */
  const homeOf = (voice: string, from: readonly Member[]): Member | undefined => {
    const having = from.filter((member) => cloneServers.get(voice)?.has(member));
    if (having.length > 0) return leastBusy(having);
    const ranks = from.map((member) => ({ member, rank: hash('sha1', `${member.name} ${voice}`) }));
    return ranks.toSorted((a, b) => (a.rank < b.rank ? -1 : 1))[0]?.member;
  };
  const noteClone = ({ voice, clone }: SpeechRequest, member: Member) => {
    if (!clone) return;
    const servers = cloneServers.get(voice) ?? new Set();
    cloneServers.delete(voice);
    cloneServers.set(voice, servers.add(member));
    if (cloneServers.size > clonesKnownMax) cloneServers.delete(cloneServers.keys().next().value!);
  };

  const warmUp = async (member: Member, request: SpeechRequest): Promise<void> => {
    member.isWarming = true;
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(new Failure('engine_timeout')), warmUpMsMax).unref();
    const signal = AbortSignal.any([late.signal, closing.signal]);
    const { outUntilMs } = member;
    await Array.fromAsync(speakAt(member, { ...request, text: warmUpText }, signal)).catch((error) => {
      const isNoted = !member.isCold || member.outUntilMs !== outUntilMs;
      if (!(error instanceof ServerFull) && !isNoted) failed(member);
    });
    clearTimeout(timer);
    member.isWarming = false;
  };

  const warmUpDue = () => {
    if (!lastRequest) return;
    for (const member of members.values()) if (isDue(member)) void warmUp(member, lastRequest);
  };
  const timer = setInterval(warmUpDue, outMsFirst).unref();
  /** Marks the server as working, and returns its new `outUntilMs`. */
  const bringBack = (member: Member): number => {
    member.isCold = false;
    member.outUntilMs = 0;
    return 0;
  };
  const failed = (member: Member) => {
    member.outUntilMs = now() + Math.min(outMsFirst * 2 ** member.failures, outMsMax);
    member.failures++;
    member.isCold = true;
    dropClones(member);
  };

  async function* speakAt(
    member: Member,
    request: SpeechRequest,
    signal: AbortSignal,
  ): AsyncGenerator<SpokenPcm, void> {
    let { outUntilMs } = member;
    const playback = new Playback();
    let sinceMs = now();
    const note = (error: unknown) => {
      // A failure is ignored if the state of the server changed after the request began.
      if (isOfServer(error) && member.outUntilMs === outUntilMs) failed(member);
    };
    // Counts the guard's timeout as a failure of the silent server. A caller's abort is not counted.
    using _ = onAbort(signal, () => {
      if (now() - sinceMs >= silentMs) note(signal.reason);
    });
    member.outstanding++;
    member.waiting++;
    try {
      for await (const piece of member.server.speak(request, signal)) {
        if (playback.firstSoundMs === undefined) {
          member.waiting--;
          if (member.outUntilMs === outUntilMs && !member.isWarming) outUntilMs = bringBack(member);
        }
        playback.add(now() - sinceMs, secondsOf(piece));
        yield { ...piece, server: member.name };
        sinceMs = now();
      }
      if (member.outUntilMs === outUntilMs) {
        member.failures = 0;
        bringBack(member);
      }
      noteClone(request, member);
    } catch (error) {
      if (error instanceof ServerFull)
        member.fullUntilMs = now() + Math.min(error.retryAfterMs || fullMsUsual, fullMsMax);
      else if (!signal.aborted) note(error);
      throw error;
    } finally {
      member.outstanding--;
      if (playback.firstSoundMs === undefined) member.waiting--;
      if (!member.isWarming) onStream?.(member.name, playback);
      if (member.outstanding === 0 && draining.delete(member)) gone(member);
    }
  }

  const membersInTurn = () =>
    [...members.values()].toSorted(
      (a, b) => Number(isUp(b)) - Number(isUp(a)) || a.outUntilMs - b.outUntilMs || a.outstanding - b.outstanding,
    );
  /** Calls the servers one after another, until one succeeds or rejects the request itself. */
  async function askInTurn<T>(
    inTurn: readonly Member[],
    ask: (server: SpeechServer, signal: AbortSignal) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    for (const [n, member] of inTurn.entries()) {
      const isLast = n === inTurn.length - 1;
      const by = isLast ? signal : AbortSignal.any([signal, AbortSignal.timeout(answerMsMax)]);
      const { outUntilMs } = member;
      try {
        return await withAbort(by, ask(member.server, by));
      } catch (error) {
        const failure = isTimeout(error) ? new Failure('engine_timeout', { retryAfterSeconds: 0 }, error) : error;
        if (isOfServer(failure) && !signal.aborted && member.outUntilMs === outUntilMs) failed(member);
        const isOfMember = isOfServer(failure) || failure instanceof ServerFull;
        if (isLast || signal.aborted || !isOfMember) throw failure;
      }
    }
    throw new Failure('engine_unavailable', { retryAfterSeconds: 0 });
  }

  return {
    async *speak(request, signal) {
      await known();
      for (let tries = members.size; ; tries--) {
        const member = choose(request);
        let isBegun = false;
        try {
          for await (const piece of speakAt(member, request, signal)) {
            isBegun = true;
            yield piece;
          }
          return;
        } catch (error) {
          if (isBegun || !(error instanceof ServerFull) || tries <= 1) throw error;
        }
      }
    },
    async listVoices(signal) {
      await known();
      return askInTurn(membersInTurn(), (server, by) => server.listVoices(by), signal);
    },
    async uploadClone(clone, signal) {
      await known();
      const first = choose({ voice: clone.name, text: '', clone });
      const members = [first, ...membersInTurn().filter((member) => member !== first)];
      await askInTurn(members, (server, by) => server.uploadClone(clone, by), signal);
    },
    async deleteClone(name, signal) {
      const ends = await Promise.allSettled(all().map(({ server }) => server.deleteClone(name, signal)));
      const failed = ends.find((end) => end.status === 'rejected');
      if (failed) throw failed.reason;
    },
    get servers() {
      return all().map((member) => {
        const { name, outstanding, waiting } = member;
        const limit = isUp(member) && !draining.has(member) ? requestsAtOnce : 0;
        return { name, outstanding, waiting, limit, isFull: member.fullUntilMs > now() };
      });
    },
    get seats() {
      // A server that accepts no further requests still works on its running requests.
      const seatsOf = (member: Member) =>
        isUp(member) && member.fullUntilMs <= now() && !draining.has(member) ? requestsAtOnce : member.outstanding;
      return Math.max(
        1,
        all().reduce((sum, member) => sum + seatsOf(member), 0),
      );
    },
    close() {
      closing.abort(new Failure('engine_unavailable'));
      clearInterval(timer);
      addresses.close();
    },
  };
}

/** Host and port; also the path if several servers have the same host and port. */
function nameOf(url: string, urls: readonly string[]): string {
  const { host, pathname } = new URL(url);
  return urls.some((other) => other !== url && new URL(other).host === host) ? host + pathname : host;
}

/** Whether the server caused the failure (unreachable, too slow, or connection lost), not the request. */
const isOfServer = (error: unknown): boolean =>
  error instanceof Failure &&
  !(error instanceof ServerFull) &&
  (error.reason === 'engine_unavailable' ||
    error.reason === 'engine_timeout' ||
    error.facts.retryAfterSeconds !== undefined);
