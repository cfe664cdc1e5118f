// Keeps a copy of the lexicon table in memory. Changes by this process apply at once, changes by other processes within
// half a second. A lexicon is compiled on first use, and again if its compiled form was evicted.
import type { VoiceUser } from '../../accounts.ts';
import { openPolling } from '../../platform/runtime/polling.ts';
import { inSteps } from '../../platform/runtime/steps.ts';
import { type Lexicons, type OfferedLexicon, ownerOf } from '../../speech.ts';
import { Lexicon, type LexiconEntry } from '../../text.ts';
import { compiledEntriesMax } from './lexicon-fields.ts';
import type { LexiconRow, LexiconRows } from './lexicon-rows.ts';

const pollEveryMs = 500;
/** Few rows are read at once, because a row may hold two megabytes. */
const rowsPerRead = 20;

export interface StoredLexicon extends OfferedLexicon {
  /** Account of the owner; undefined for the operator's lexicons. */
  ownerId: string | undefined;
  access: LexiconRow['access'];
  name: string;
  entryCount: number;
  byteCount: number;
  createdAt: Date;
  updatedAt: Date;
  entries(): LexiconEntry[];
}

export interface LexiconCache extends Lexicons {
  find(lexiconId: string, user: VoiceUser | undefined): StoredLexicon | undefined;
  /** All lexicons, or those that the user may use, sorted by id. */
  list(user?: VoiceUser): readonly StoredLexicon[];
  refresh(): Promise<void>;
  close(): Promise<void>;
}

interface LexiconCacheOptions {
  rows: Pick<LexiconRows, 'listChanged'>;
  onFault(fault: unknown): void;
}

export async function openLexiconCache({ rows, onFault }: LexiconCacheOptions): Promise<LexiconCache> {
  const lexicons = new Map<string, StoredLexicon>();
  const compiled = createCompiled();
  let list: readonly StoredLexicon[] | undefined;
  let revision = 0;
  const poll = async () => {
    for (;;) {
      const changed = await rows.listChanged(revision, rowsPerRead);
      for (const row of changed) {
        if (row.entries === null) lexicons.delete(row.lexiconId);
        else lexicons.set(row.lexiconId, toStored(row, row.entries, compiled));
        list = undefined;
      }
      revision = changed.at(-1)?.revision ?? revision;
      if (changed.length < rowsPerRead) return;
    }
  };
  const { refresh, close } = await openPolling(poll, { everyMs: pollEveryMs, onFault });
  return {
    find(lexiconId, user) {
      const found = lexicons.get(lexiconId);
      return found && mayUse(found, user) ? found : undefined;
    },
    list(user) {
      list ??= [...lexicons.values()].sort((a, b) => (a.lexiconId < b.lexiconId ? -1 : 1));
      return user ? list.filter((lexicon) => mayUse(lexicon, user)) : list;
    },
    refresh,
    close,
  };
}

/** Without a user, all lexicons may be used. */
export const mayUse = (lexicon: Pick<StoredLexicon, 'ownerId' | 'access'>, user?: VoiceUser): boolean =>
  !user || lexicon.access === 'everyone' || user.usesAllVoices === true || ownerOf(lexicon, user) === 'self';

type Compile = (version: string, entryCount: number, read: () => LexiconEntry[]) => Promise<Lexicon>;

/** Cache of compiled lexicons by content version. Evicts the least recently used lexicon. */
function createCompiled(): Compile {
  const held = new Map<string, { lexicon: Promise<Lexicon>; entryCount: number }>();
  let entriesHeld = 0;
  return (version, entryCount, read) => {
    const known = held.get(version) ?? { lexicon: inSteps(Lexicon.compile(read())), entryCount };
    if (held.delete(version)) entriesHeld -= entryCount;
    held.set(version, known);
    entriesHeld += entryCount;
    for (const [oldest, { entryCount: count }] of held) {
      if (entriesHeld <= compiledEntriesMax || oldest === version) break;
      held.delete(oldest);
      entriesHeld -= count;
    }
    return known.lexicon;
  };
}

function toStored(row: LexiconRow, json: string, compile: Compile): StoredLexicon {
  const { lexiconId, name, entryCount, byteCount, version } = row;
  const entries = (): LexiconEntry[] => JSON.parse(json);
  return {
    lexiconId,
    name,
    ownerId: row.ownerId ?? undefined,
    // Unknown values, written by a newer version of Sonant, count as private.
    access: row.access === 'everyone' ? 'everyone' : 'private',
    entryCount,
    byteCount,
    version,
    createdAt: new Date(row.createdAtMs),
    updatedAt: new Date(row.updatedAtMs),
    entries,
    compile: () => compile(version, entryCount, entries),
  };
}
