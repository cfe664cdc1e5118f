// What a caller accepts: the header Accept (RFC 9110, section 12.5.1).

/** Whether the header names the type itself, and no other type with a higher quality. */
export function asksFor(accept: string | undefined, type: string): boolean {
  if (!accept?.toLowerCase().includes(type)) return false;
  const ranges = accept.split(',').map((range) => {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith('q='));
    return { name, quality: weight === undefined ? 1 : Number(weight.slice(2)) };
  });
  const own = ranges.find(({ name }) => name === type)?.quality ?? 0;
  return own > 0 && ranges.every(({ name, quality }) => name.includes('*') || !(quality > own));
}
