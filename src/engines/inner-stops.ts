// The stops of abbreviations within a segment, for engines that take some of them for the end of a sentence: "Prof. Jones",
// "Jan. 1950". A segment is a sentence at most, so that none of them is one. A number may be an ordinal by its stop, and "A."
// would be an article without it.

const innerStopPattern = /(?<=\p{L})(?<!(?<![\p{L}.])A)\.(?=["')\]]*\s["'(]*[\p{L}\p{N}])/gu;

/** The text with a space in place of each, so that indices stay. */
export const withoutInnerStops = (text: string): string => text.replace(innerStopPattern, ' ');
