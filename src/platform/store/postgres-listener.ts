// Receives notifications from a PostgreSQL database (LISTEN and NOTIFY, channel `sonant`, payload = topic) on a
// dedicated connection. A lost connection is reopened with exponential backoff. Notifications may be lost in the
// meantime, so all listeners are called whenever a connection opens.
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { onAbort } from '../runtime/abort.ts';
import { type Topic, topics } from './row-store.ts';

export const notifySql = `select pg_notify('sonant', $1)`;

const reopenMs = { first: 50, max: 1_000 };
/** Interval of the keep-alive query, which detects a connection that was cut silently. */
const pingEveryMs = 10_000;

export class PostgresListener {
  readonly #config: pg.ClientConfig;
  readonly #listeners = new Map<Topic, Set<() => void>>(topics.map((topic) => [topic, new Set()]));
  readonly #closing = new AbortController();
  #loop: Promise<void> | undefined;

  constructor(config: pg.ClientConfig) {
    this.#config = config;
  }

  listen(topic: Topic, onChange: () => void): () => void {
    const listeners = this.#listeners.get(topic)!;
    const listener = () => onChange();
    listeners.add(listener);
    this.#loop ??= this.#run();
    return () => void listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#loop;
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    let waitMs = reopenMs.first;
    const onOpen = () => {
      waitMs = reopenMs.first;
    };
    while (!signal.aborted) {
      await this.#receive(signal, onOpen).catch(() => {});
      await sleep(waitMs * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => {});
      waitMs = Math.min(waitMs * 2, reopenMs.max);
    }
  }

  /** Runs until the connection is lost. */
  async #receive(signal: AbortSignal, onOpen: () => void): Promise<void> {
    const client = new pg.Client(this.#config);
    const lost = Promise.withResolvers<void>();
    for (const event of ['error', 'end'] as const) client.on(event, () => lost.resolve());
    // The abort listener is removed at the end; otherwise the signal would keep the connection in memory.
    using _ = onAbort(signal, lost.resolve);
    client.on('notification', ({ payload }) => this.#call((topic) => topic === payload));
    let timer: NodeJS.Timeout | undefined;
    try {
      await client.connect();
      await client.query('listen sonant');
      onOpen();
      this.#call(() => true);
      timer = setInterval(() => client.query('select 1').catch(() => lost.resolve()), pingEveryMs);
      await lost.promise;
    } finally {
      clearInterval(timer);
      void client.end().catch(() => {});
    }
  }

  #call(matches: (topic: Topic) => boolean): void {
    for (const [topic, listeners] of this.#listeners) {
      if (matches(topic)) for (const listener of listeners) listener();
    }
  }
}
