// A queue that serves its owners in rotation, one item of each owner at a time. The items of one owner keep their
// order. An item may be removed before its turn if earlier items cannot be used now.

export class FairQueue<Item extends { readonly owner: string }> {
  readonly #byOwner = new Map<string, Item[]>();
  count = 0;

  add(item: Item): void {
    const own = this.#byOwner.get(item.owner);
    if (own) own.push(item);
    else this.#byOwner.set(item.owner, [item]);
    this.count++;
  }

  remove(item: Item): void {
    const own = this.#byOwner.get(item.owner);
    const at = own?.indexOf(item) ?? -1;
    if (!own || at < 0) return;
    own.splice(at, 1);
    this.count--;
    if (own.length === 0) this.#byOwner.delete(item.owner);
  }

  /** Removes an item and moves its owner to the end of the rotation. */
  take(item: Item): void {
    this.remove(item);
    const left = this.#byOwner.get(item.owner);
    if (!left) return;
    this.#byOwner.delete(item.owner);
    this.#byOwner.set(item.owner, left);
  }

  [Symbol.iterator](): Iterator<Item> {
    return this.inTurn(false);
  }

  /** Iterates over all items, owner by owner, starting with the owner whose turn it is. */
  *inTurn(isNewestFirst: boolean): Generator<Item> {
    for (const own of this.#byOwner.values()) yield* isNewestFirst ? own.toReversed() : own;
  }

  /** Number of items that `counts` selects and that are served before a new item of the owner. */
  countBefore(owner: string, counts: (item: Item) => boolean): number {
    return countInTurn(owner, this.#byOwner, (own) => own.filter(counts).length);
  }

  /**
   * The newest item of the owner with the most items; only items that `counts` selects are counted. Undefined if one
   * more item would give `owner` as many items.
   */
  newestOfMost(counts: (item: Item) => boolean, owner?: string): Item | undefined {
    let most: readonly Item[] = [];
    let ownCount = -1;
    for (const [each, items] of this.#byOwner) {
      const counted = items.filter(counts);
      if (each === owner) ownCount = counted.length;
      if (counted.length > most.length) most = counted;
    }
    if (owner !== undefined && ownCount < 0) ownCount = 0;
    return most.length > ownCount + 1 ? most.at(-1) : undefined;
  }
}

/** Number of items served before a new item of `owner`: the owner's n items, and at most n + 1 of each other owner. */
export function countInTurn<Items>(
  owner: string,
  byOwner: ReadonlyMap<string, Items>,
  countOf: (items: Items) => number,
): number {
  const itsOwn = byOwner.get(owner);
  const own = itsOwn === undefined ? 0 : countOf(itsOwn);
  let count = own;
  for (const [other, items] of byOwner) if (other !== owner) count += Math.min(countOf(items), own + 1);
  return count;
}
