// Text in a header: as it is where that is valid, else as percent-encoded UTF-8.

/** Printable ASCII without a space at either end. */
const isPlain = (text: string) => /^[!-~](?:[ -~]*[!-~])?$/.test(text);

export const headerText = (text: string): string => (isPlain(text) ? text : encodeURIComponent(text.toWellFormed()));
