// Finds the references to footnotes in a text, which are not read: "said.[12]", a raised star, and the arrow that leads
// back from a note.

const bracketedPattern = /^[[({]\s*(?:\d{1,4}|[*†‡§¶]{1,3}|[a-z]|[ivxlc]{1,7})\s*[\])}]$/iu;
const barePattern = /^(?:\d{1,4}|[*†‡§¶]{1,3}|[a-z]|[ivxlc]{1,7})[.)]?$/iu;
const signPattern = /^[*†‡§¶]{1,3}$/u;
const backPattern = /^[[(]?[↩↵⤴⬆↑^←⏎]{1,2}[\ufe0e\ufe0f]?[\])]?$/u;

export interface LinkText {
  text: string;
  /** Whether it leads to a place in a document. */
  hasFragment: boolean;
  isRaised: boolean;
  /** The text of its paragraph before it. */
  before: string;
}

/** Whether a link is a reference to a note, or back from it. A number that begins a paragraph numbers that paragraph. */
export function isNoteReference({ text, hasFragment, isRaised, before }: LinkText): boolean {
  const marker = text.trim();
  if (!hasFragment || marker === '') return false;
  if (backPattern.test(marker)) return true;
  if (before.trim() === '') return false;
  if (bracketedPattern.test(marker) || signPattern.test(marker)) return true;
  if (!barePattern.test(marker)) return false;
  return isRaised || (/^\d/.test(marker) && /\S$/.test(before));
}

/** Whether a raised text without a link is one. */
export const isRaisedReference = (text: string, before: string): boolean =>
  before.trim() !== '' && (bracketedPattern.test(text.trim()) || signPattern.test(text.trim()));
