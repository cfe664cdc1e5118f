// BCP-47 language tags in their canonical form.

/** Tags asked for lately, with their canonical form: working that out is a tenth of a small request. */
const knownTags = new Map<string, string>();
const knownTagsMax = 256;
const knownTagCharsMax = 35;

/** The canonical form of a BCP-47 tag, or undefined if it is none. */
export function toLanguageCode(tag: string): string | undefined {
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
