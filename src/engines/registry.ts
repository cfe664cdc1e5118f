// The registry of engines, the engine of the default voice first: onnx if it has a voice, else flite. No other file in src/ outside an engine's
// folder names that engine.
import type { EngineDefinition } from './engine.ts';
import { espeakNg } from './espeak-ng/espeak-ng.ts';
import { flite } from './flite/flite.ts';
import { google } from './google/google.ts';
import { onnx } from './onnx/onnx.ts';
import { openAiCompatible } from './openai-compatible/openai-compatible.ts';
import { sherpaOnnx } from './sherpa-onnx/sherpa-onnx.ts';

export const registry: readonly EngineDefinition[] = [onnx, flite, espeakNg, openAiCompatible, google, sherpaOnnx];
