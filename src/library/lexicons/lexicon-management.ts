// Creates, replaces and deletes lexicons for the owning account, and for callers that may use all voices. A change
// takes effect in this process before the call returns.

import { type Actor, operator, type VoiceUser } from '../../accounts.ts';
import { Failure } from '../../platform/errors.ts';
import { createId } from '../../platform/runtime/id.ts';
import { ownerOf } from '../../speech.ts';
import type { LexiconCache, StoredLexicon } from './lexicon-cache.ts';
import { accountLexiconBytesMax, allLexiconBytesMax, type CheckedLexicon } from './lexicon-fields.ts';
import type { LexiconDraft, LexiconRow, LexiconRows, OwnedLexicons } from './lexicon-rows.ts';

export type LexiconManagement = ReturnType<typeof createLexiconManagement>;

interface LexiconManagementOptions {
  rows: Pick<LexiconRows, 'change'>;
  cache: LexiconCache;
  /** Limit per account; the operator has no limit. */
  lexiconsPerAccount: number;
}

export function createLexiconManagement({ rows, cache, lexiconsPerAccount }: LexiconManagementOptions) {
  const find = (lexiconId: string, user: VoiceUser): StoredLexicon => {
    const found = cache.find(lexiconId, user);
    if (found) return found;
    throw notFound();
  };
  const change = async (
    lexiconId: string,
    actor: Actor,
    decide: (row: LexiconRow | undefined, others: OwnedLexicons) => LexiconDraft,
  ): Promise<void> => {
    await rows.change(lexiconId, (row) => (row ? row.ownerId : ownerIdOf(actor)), decide);
    await cache.refresh();
  };
  const checkTotals = ({ byteCount }: CheckedLexicon, ownerId: string | null, others: OwnedLexicons) => {
    const isOver = (actual: number, limit: number, what: string) => {
      if (actual <= limit) return;
      const message = `${what} limited to ${limit}. Delete some first.`;
      throw new Failure('invalid_request', { message, limit, actual });
    };
    if (ownerId !== null) {
      isOver(others.count + 1, lexiconsPerAccount, 'The number of lexicons of an account is');
      isOver(
        others.byteCount + byteCount,
        accountLexiconBytesMax,
        'The size of all lexicons of an account, in bytes, is',
      );
    }
    const all = cache.list().reduce((sum, each) => sum + each.byteCount, byteCount);
    isOver(all, allLexiconBytesMax, 'The size of all lexicons of the service, in bytes, is');
  };
  return {
    find,
    list: (user: VoiceUser) => cache.list(user),

    async create({ name = '', access = 'private', ...content }: CheckedLexicon, actor: Actor): Promise<StoredLexicon> {
      const lexiconId = createId('lex');
      const ownerId = ownerIdOf(actor);
      const atMs = Date.now();
      await change(lexiconId, actor, (_, others) => {
        checkTotals({ name, access, ...content }, ownerId, others);
        return { lexiconId, ownerId, access, name, ...content, createdAtMs: atMs, updatedAtMs: atMs };
      });
      return find(lexiconId, actor);
    },

    checkMayChange: (lexiconId: string, actor: Actor): void => checkMayChange(find(lexiconId, actor), actor),

    /** Replaces the entries, and the name and access if they are given. */
    async replace(lexiconId: string, checked: CheckedLexicon, actor: Actor): Promise<StoredLexicon> {
      checkMayChange(find(lexiconId, actor), actor);
      await change(lexiconId, actor, (row, others) => {
        const before = requireOwn(row, actor);
        checkTotals(checked, before.ownerId, others);
        const { name = before.name, access = before.access, ...content } = checked;
        return { ...before, name, access, ...content, updatedAtMs: Date.now() };
      });
      return find(lexiconId, actor);
    },

    async remove(lexiconId: string, actor: Actor): Promise<void> {
      checkMayChange(find(lexiconId, actor), actor);
      await change(lexiconId, actor, (row) => {
        const emptied = { name: '', entries: null, version: '', ownerId: null, updatedAtMs: Date.now() };
        return { ...requireOwn(row, actor), ...emptied };
      });
    },
  };
}

const notFound = () => new Failure('not_found', { message: 'Lexicon not found for this key.' });

const ownerIdOf = ({ accountId }: Actor): string | null => (accountId === operator.accountId ? null : accountId);

function checkMayChange(lexicon: Pick<StoredLexicon, 'ownerId'>, actor: Actor): void {
  if (actor.usesAllVoices || ownerOf(lexicon, actor) === 'self') return;
  const message = 'Only the owner of the lexicon and keys with the scope admin may change it.';
  throw new Failure('access_denied', { message });
}

/** Returns the row. Throws if it was deleted in the meantime or the actor may not change it. */
function requireOwn(row: LexiconRow | undefined, actor: Actor): LexiconRow {
  if (!row) throw notFound();
  checkMayChange({ ownerId: row.ownerId ?? undefined }, actor);
  return row;
}
