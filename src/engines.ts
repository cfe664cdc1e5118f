// Engines, and the guard that calls them.

// What an engine is

export {
  type Blend,
  type BroughtVoice,
  type Cloning,
  type Engine,
  type EngineCapabilities,
  type EngineDefinition,
  type EngineLibrary,
  type EngineReport,
  languagesOfBlend,
  type Segment,
  type SpokenPcm,
  type Voice,
  type WordTime,
} from './engines/engine.ts';

// How engines are called

export {
  createEngineGuards,
  type EngineGuards,
  type Listen,
  type Seat,
  type SegmentCheck,
  type SegmentOptions,
  type TakeTurn,
  type Turn,
} from './engines/guard.ts';

// All engines

export { registry } from './engines/registry.ts';

// Opening

export { type EnginesOptions, openEngines } from './engines/open-engines.ts';

// How speech is checked

export type { SpeechFault } from './engines/speech-check.ts';
export { openVoiceDurations } from './engines/voice-durations.ts';
