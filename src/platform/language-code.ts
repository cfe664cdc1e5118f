// BCP-47 language tags in canonical form.

/** Caches canonical forms, because computing a form takes a tenth of the time of a small request. */
const knownTags = new Map<string, string>();
const knownTagsMax = 256;
const knownTagCharsMax = 35;
/** Limit for any tag. The longest example in RFC 5646 has 35 characters. */
const tagCharsMax = 100;

/** The canonical form of a BCP-47 tag; undefined if the tag is invalid or too long. */
export function toLanguageCode(tag: string): string | undefined {
  if (tag.length > tagCharsMax) return undefined;
  const known = knownTags.get(tag);
  if (known !== undefined) return known;
  try {
    const code = Intl.getCanonicalLocales(tag)[0]!;
    if (tag.length > knownTagCharsMax) return code;
    if (knownTags.size === knownTagsMax) knownTags.clear();
    knownTags.set(tag, code);
    return code;
  } catch {
    return undefined;
  }
}
