// Converts the items of an asynchronous iterable. A generator would add three awaits per item, this adds one.

interface MapOptions<From, To> {
  /** Returns undefined if nothing is to be sent for the item. */
  convert(item: From): To | undefined;
  /** Returns the error to throw instead of an error of the source. */
  toThrown?(error: unknown): unknown;
}

/** The source is opened when its first item is read. */
export function mapped<From, To>(
  open: () => AsyncIterable<From> | Promise<AsyncIterable<From>>,
  { convert, toThrown = (error) => error }: MapOptions<From, To>,
): AsyncIterable<To> {
  let items: AsyncIterator<From> | undefined;
  const next = async (): Promise<IteratorResult<To, undefined>> => {
    try {
      items ??= (await open())[Symbol.asyncIterator]();
      for (;;) {
        const result = await items.next();
        if (result.done) return { done: true, value: undefined };
        const value = convert(result.value);
        if (value !== undefined) return { done: false, value };
      }
    } catch (error) {
      throw toThrown(error);
    }
  };
  const end = async () => {
    items?.return?.()?.catch(() => {});
    return { done: true as const, value: undefined };
  };
  return { [Symbol.asyncIterator]: () => ({ next, return: end }) };
}
