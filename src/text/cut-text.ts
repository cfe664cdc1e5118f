// Cuts a text to a length in UTF-16 units, between two characters: half of a surrogate pair is no text, and JSON with one is
// refused.

export const cutText = (text: string, unitsMax: number): string =>
  text.slice(0, unitsMax).replace(/[\ud800-\udbff]$/, '');
