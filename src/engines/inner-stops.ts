// Removes the full stops of abbreviations such as "Prof. Jones" or "Jan. 1950", for engines that would end a sentence
// there. A segment has at most one sentence, so no inner stop ends a sentence. Stops after numbers (ordinals) and "A."
// (which would become an article) are kept.

const innerStopPattern = /(?<=\p{L})(?<!(?<![\p{L}.])A)\.(?=["')\]]*\s["'(]*[\p{L}\p{N}])/gu;

/** Replaces each stop with a space, so that indices stay the same. */
export const withoutInnerStops = (text: string): string => text.replace(innerStopPattern, ' ');
