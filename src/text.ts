// Text to words: markup, lexicons, languages, and segments that a voice can speak.

// Markup

export { pausesMsMax, withoutVendorTags } from './text/inline-tags.ts';
export { type MarkedText, MarkupFault, type RunStyle, type VoiceName } from './text/marked-text.ts';
export { isSsml, type MarkupKind, readMarkup } from './text/ssml.ts';

// Segments

export { PartCutter } from './text/part-cutter.ts';
export { type Cut, createBreakFinder, type Span } from './text/segment.ts';
export { type Diction, openTextCutter, type TextCut } from './text/text-cutter.ts';

// What is said instead of the written text

export { applyLexicons } from './text/apply-lexicons.ts';
export type { PhonemeRange } from './text/flat-text.ts';
export { Lexicon, type LexiconEntry } from './text/lexicon.ts';

// What was heard

export { compareWords } from './text/compare-words.ts';

// Scripts, and runs of one language

export { fitScripts, inspectScripts } from './text/scripts.ts';
export { splitRuns } from './text/split-runs.ts';

// The notice that the voice is synthetic

export { withDisclosure } from './text/disclosure.ts';
