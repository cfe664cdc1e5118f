// The families of models that this engine speaks with.
import type { Family } from './family.ts';
import { hibari } from './hibari.ts';
import { kokoro } from './kokoro.ts';
import type { OnnxModel } from './onnx-file.ts';
import { piper } from './piper.ts';

const families: readonly Family[] = [hibari, kokoro, piper];

/** The family of the graph; undefined if this engine cannot speak with it. */
export const familyOf = (model: OnnxModel): Family | undefined => families.find((each) => each.isOwn(model));
