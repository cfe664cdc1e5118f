// The voices of a model: one per speaker, or one per recording of a model that clones. Their ids begin with the model's
// folder: "amy" for a single speaker, "supertonic-F1" for a named speaker, "choir-12" for a numbered one.
import type { Voice } from '../engine.ts';
import type { Model, VoiceSample } from './model.ts';

/** A voice of a model, as the library addresses it. */
export interface Speaker {
  voice: Voice;
  sid: number;
  /** The recording to clone, for a model that clones. */
  sample?: VoiceSample;
}

const kindNames = { zipvoice: 'ZipVoice', pocket: 'Pocket', supertonic: 'Supertonic' };
/** Memory of a process without a model's weights, measured with a model of a few kilobytes. */
const processBytes = 175_000_000;

/** Memory of a process with the model, estimated from its files. */
export const memoryBytesOf = ({ fileBytes }: Model): number => processBytes + fileBytes;

export const toMegabytes = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`;

export const countSpeakers = ({ speakers, zeroShot }: Model): number => zeroShot?.samples.length ?? speakers;

export function speakersOf(model: Model, gainOf: (sid: number) => number): Speaker[] {
  const taken = new Set<string>();
  return Array.from({ length: countSpeakers(model) }, (_, sid) => {
    const speaker = toSpeaker(model, sid, gainOf(sid));
    const { voiceId } = speaker.voice;
    // Speakers with the same name keep their numbers.
    const unique = taken.has(voiceId) ? { ...speaker.voice, voiceId: `${model.modelId}-${sid}` } : speaker.voice;
    taken.add(unique.voiceId);
    return { ...speaker, voice: unique };
  });
}

function toSpeaker(model: Model, sid: number, gainDb: number): Speaker {
  const { modelId, kind, card, version, speakers, speakerNames, languageCodes } = model;
  const sample = model.zeroShot?.samples[sid];
  const named = sample?.name ?? speakerNames[sid];
  const listed = card.speakers[sid];
  const ownLabels = named === undefined ? {} : model.labelsOf?.(named);
  const ownName = listed?.name ?? named ?? String(sid);
  const modelName = card.name ?? modelId;
  const size = toMegabytes(memoryBytesOf(model));
  const usual = `A neural voice of your own (${kindNames[kind]}, about ${size} in memory).`;
  const description = listed?.description ?? card.description ?? usual;
  const voice: Voice = {
    voiceId: speakers === 1 ? modelId : `${modelId}-${toIdPart(listed?.name ?? named) || sid}`,
    name: speakers === 1 ? (listed?.name ?? modelName) : `${modelName} ${ownName}`,
    description,
    kind: 'stock',
    engine: 'sherpa-onnx',
    languageCodes: listed?.languageCodes ?? languageCodes,
    labels: { model: kind, ...card.labels, ...ownLabels, ...listed?.labels },
    version,
    gainDb,
  };
  // A sample replaces the speaker's number.
  return { voice, sid: sample ? 0 : sid, ...(sample && { sample }) };
}

const toIdPart = (name = ''): string =>
  name
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 40);
