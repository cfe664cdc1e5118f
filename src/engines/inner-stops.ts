// Removes the stops of abbreviations, for engines that take them for the end of a sentence: "Prof. Jones", "Jan. 1950".
// A segment is at most one sentence, so no inner stop ends one. Stops after numbers (ordinals) and "A." (which would
// become an article) are kept.

const innerStopPattern = /(?<=\p{L})(?<!(?<![\p{L}.])A)\.(?=["')\]]*\s["'(]*[\p{L}\p{N}])/gu;

/** Replaces each stop by a space, so that indices stay the same. */
export const withoutInnerStops = (text: string): string => text.replace(innerStopPattern, ' ');
