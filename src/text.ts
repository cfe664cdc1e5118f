// Text to words: markup, lexicons, languages, and segments that a voice can speak.
export { applyLexicons } from './text/apply-lexicons.ts';
export { disclosureIn, withDisclosure } from './text/disclosure.ts';
export {
  createOffsets,
  type FlatText,
  flatten,
  type OffsetOf,
  type PhonemeRange,
  type Resolve,
} from './text/flat-text.ts';
export { pausesMsMax, withoutVendorTags } from './text/inline-tags.ts';
export { toLanguageCode } from './text/language-code.ts';
export {
  compileLexicon,
  findPhonemeFault,
  type LetterCase,
  type Lexicon,
  type LexiconEntry,
  lexiconSteps,
} from './text/lexicon.ts';
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
export { normalizeText, sayText } from './text/normalize-text.ts';
export type { ReadingState } from './text/paragraphs.ts';
export { PartCutter } from './text/part-cutter.ts';
export { readPls, toXml, writePls } from './text/pls.ts';
export { type MarkupKind, readMarkup } from './text/read-markup.ts';
export { sayAs } from './text/say-as.ts';
export { fitScripts, inspectScripts } from './text/scripts.ts';
export { type Break, type Cut, type SegmentOptions, type Span, segmentSteps } from './text/segment.ts';
export { splitRuns } from './text/split-runs.ts';
export { isSsml, readSsml } from './text/ssml.ts';
export { breakStrength } from './text/tokenize.ts';
