// Text to words: markup, lexicons, languages, and segments that a voice can speak.

// Markup

export { pausesMsMax, withoutVendorTags } from './text/inline-tags.ts';
export {
  type Emphasis,
  type MarkedItem,
  type MarkedRun,
  type MarkedText,
  MarkupFault,
  positionIn,
  type RunStyle,
  type Said,
  type VoiceName,
} from './text/marked-text.ts';
export { type MarkupKind, readMarkup } from './text/read-markup.ts';
export { isSsml, readSsml } from './text/ssml.ts';

// Segments

export type { ReadingState } from './text/paragraphs.ts';
export { PartCutter } from './text/part-cutter.ts';
export { type Break, type Cut, type SegmentOptions, type Span, segmentSteps } from './text/segment.ts';
export { breakStrength } from './text/tokenize.ts';

// What is said instead of the written text

export { applyLexicons } from './text/apply-lexicons.ts';
export {
  createOffsets,
  type FlatText,
  flatten,
  type OffsetOf,
  type PhonemeRange,
  type Resolve,
} from './text/flat-text.ts';
export {
  compileLexicon,
  findPhonemeFault,
  type LetterCase,
  type Lexicon,
  type LexiconEntry,
  lexiconSteps,
} from './text/lexicon.ts';
export { normalizeText, sayText } from './text/normalize-text.ts';
export { readPls, toXml, writePls } from './text/pls.ts';
export { sayAs } from './text/say-as.ts';

// What was heard

export { compareWords, type WordDifference } from './text/compare-words.ts';

// Languages

export { toLanguageCode } from './text/language-code.ts';
export { fitScripts, inspectScripts } from './text/scripts.ts';
export { splitRuns } from './text/split-runs.ts';

// The notice that the voice is synthetic

export { disclosureIn, withDisclosure } from './text/disclosure.ts';
