// Who waits, by owner, in the order of the owners' turns; of each owner's own either the oldest or the newest comes first.
export interface Waiting {
  owner: string;
}

export class WaitingLine<Waiter extends Waiting> {
  readonly #byOwner = new Map<string, Waiter[]>();
  count = 0;

  add(waiter: Waiter): void {
    const own = this.#byOwner.get(waiter.owner);
    if (own) own.push(waiter);
    else this.#byOwner.set(waiter.owner, [waiter]);
    this.count++;
  }

  next(newestFirst: boolean): Waiter | undefined {
    const own = this.#byOwner.values().next().value;
    return own?.at(newestFirst ? -1 : 0);
  }

  newestOf(owner: string): Waiter | undefined {
    return this.#byOwner.get(owner)?.at(-1);
  }

  /** Removes one that waits, and whether it did. */
  remove(waiter: Waiter): boolean {
    const own = this.#byOwner.get(waiter.owner);
    const at = own?.indexOf(waiter) ?? -1;
    if (!own || at < 0) return false;
    own.splice(at, 1);
    this.count--;
    if (own.length === 0) this.#byOwner.delete(waiter.owner);
    return true;
  }

  /** Removes one whose turn it is: the other owners' turns come next. */
  takeNext(newestFirst: boolean): Waiter | undefined {
    const next = this.next(newestFirst);
    if (!next) return undefined;
    this.remove(next);
    const left = this.#byOwner.get(next.owner);
    if (left) {
      this.#byOwner.delete(next.owner);
      this.#byOwner.set(next.owner, left);
    }
    return next;
  }

  /** How many come before a new one of the owner: its own, and of each other owner one for each of these and the new one. */
  countBefore(owner: string, newestFirst: boolean): number {
    const own = newestFirst ? 0 : this.#countOf(owner);
    let count = own;
    for (const [other, { length }] of this.#byOwner) if (other !== owner) count += Math.min(length, own + 1);
    return count;
  }

  /** Of the owner with the most, the newest or the oldest. */
  ofLongest(which: 'newest' | 'oldest'): Waiter | undefined {
    let longest: readonly Waiter[] = [];
    for (const own of this.#byOwner.values()) if (own.length > longest.length) longest = own;
    return longest.at(which === 'newest' ? -1 : 0);
  }

  /** Whether some owner would have more than this one with one more. */
  hasLongerThan(owner: string): boolean {
    const own = this.#countOf(owner) + 1;
    return this.#byOwner.values().some(({ length }) => length > own);
  }

  #countOf(owner: string): number {
    return this.#byOwner.get(owner)?.length ?? 0;
  }
}
