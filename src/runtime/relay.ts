// An iterator over the items of another one, which is found together with its first item: by trying several, say. After
// that the other is read directly, where a generator around it would hold every item up once more. Like a generator it does
// nothing before the first `next`, and is read by one reader, who may return while `next` is awaited.

export interface Begun<Item> {
  first: IteratorResult<Item, void>;
  /** Where the rest is read. */
  source: AsyncIterator<Item, void>;
}

/** What is called once when all is over; it may throw in place of a failure. */
type End = (ended: { error?: unknown; isWhole: boolean }) => void;

export function relay<Item>(begin: () => Promise<Begun<Item>>, end?: End): AsyncGenerator<Item, void> {
  let beginning: Promise<IteratorResult<Item, void>> | undefined;
  let source: AsyncIterator<Item, void> | undefined;
  let isOver = false;
  const finish: End = (ended) => {
    if (isOver) return;
    isOver = true;
    end?.(ended);
  };
  const pass = (result: IteratorResult<Item, void>) => {
    if (result.done) finish({ isWhole: true });
    return result;
  };
  const fail = (error: unknown): never => {
    finish({ error, isWhole: false });
    throw error;
  };
  const first = async () => {
    const begun = await begin();
    source = begun.source;
    return pass(begun.first);
  };
  const leave = async (): Promise<IteratorReturnResult<void>> => {
    const wasBegun = beginning !== undefined;
    beginning ??= Promise.resolve(nothing);
    try {
      // What is still sought is found first, so that it can be ended.
      if (wasBegun && !source) await beginning.catch(() => {});
      if (!isOver) await source?.return?.();
    } finally {
      if (wasBegun) finish({ isWhole: false });
      isOver = true;
    }
    return nothing;
  };
  return {
    next() {
      if (isOver) return Promise.resolve(nothing);
      if (!source) {
        beginning ??= first().catch(fail);
        return beginning;
      }
      return end ? source.next().then(pass, fail) : source.next();
    },
    return: leave,
    async throw(error) {
      await leave();
      throw error;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
    async [Symbol.asyncDispose]() {
      await leave();
    },
  };
}

const nothing: IteratorReturnResult<void> = { done: true, value: undefined };
