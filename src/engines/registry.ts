// What can speak here: one line an engine, the one that speaks by default first. Nothing else in src/ names one.
import type { EngineDefinition } from './engine.ts';
import { espeakNg } from './espeak-ng/espeak-ng.ts';
import { flite } from './flite/flite.ts';
import { google } from './google/google.ts';
import { openAiCompatible } from './openai-compatible/openai-compatible.ts';

export const registry: readonly EngineDefinition[] = [flite, espeakNg, openAiCompatible, google];
