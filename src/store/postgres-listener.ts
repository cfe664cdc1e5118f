// Hears what is announced in a PostgreSQL database (NOTIFY, on the channel `sonant`, with the topic as its payload), on a
// connection of its own. While that is lost it is opened again, a little later each time; and as what was announced
// meanwhile is never told, whoever listens is then called for everything.
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { type Topic, topics } from './row-store.ts';

export const announcement = `select pg_notify('sonant', $1)`;

const reopenMs = { first: 50, max: 5_000 };
/** How often the connection is tried, for one that is cut without a word is silent as well. */
const tryEveryMs = 10_000;

export class PostgresListener {
  readonly #config: pg.ClientConfig;
  readonly #listeners = new Map<Topic, Set<() => void>>(topics.map((topic) => [topic, new Set()]));
  readonly #closing = new AbortController();
  #following: Promise<void> | undefined;

  constructor(config: pg.ClientConfig) {
    this.#config = config;
  }

  listen(topic: Topic, onChange: () => void): () => void {
    const listeners = this.#listeners.get(topic)!;
    const listener = () => onChange();
    listeners.add(listener);
    this.#following ??= this.#follow();
    return () => void listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#following;
  }

  async #follow(): Promise<void> {
    const { signal } = this.#closing;
    let waitMs = reopenMs.first;
    const onOpen = () => {
      waitMs = reopenMs.first;
    };
    while (!signal.aborted) {
      await this.#hear(signal, onOpen).catch(() => {});
      await sleep(waitMs * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => {});
      waitMs = Math.min(waitMs * 2, reopenMs.max);
    }
  }

  /** Until the connection is lost. */
  async #hear(signal: AbortSignal, onOpen: () => void): Promise<void> {
    const client = new pg.Client(this.#config);
    const lost = Promise.withResolvers<void>();
    for (const event of ['error', 'end'] as const) client.on(event, () => lost.resolve());
    signal.addEventListener('abort', () => lost.resolve(), { once: true });
    client.on('notification', ({ payload }) => this.#call((topic) => topic === payload));
    let timer: NodeJS.Timeout | undefined;
    try {
      await client.connect();
      await client.query('listen sonant');
      onOpen();
      this.#call(() => true);
      timer = setInterval(() => client.query('select 1').catch(() => lost.resolve()), tryEveryMs);
      await lost.promise;
    } finally {
      clearInterval(timer);
      void client.end().catch(() => {});
    }
  }

  #call(isMeant: (topic: Topic) => boolean): void {
    for (const [topic, listeners] of this.#listeners) {
      if (isMeant(topic)) for (const listener of listeners) listener();
    }
  }
}
