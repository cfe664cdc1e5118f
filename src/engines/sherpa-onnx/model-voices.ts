// The voices of a model: one per speaker, or one per recording of a model that clones. Their ids begin with the model's
// folder: "amy" for a single speaker, "kokoro-af_bella" for a named speaker, "vctk-12" for a numbered one.
import type { Voice } from '../engine.ts';
import type { BlendedSpeakers, LibraryOptions, Model, NamedSpeaker, VoiceSample } from './model.ts';

/** A voice of a model, as the library addresses it. */
export interface Speaker {
  voice: Voice;
  sid: number;
  extra: LibraryOptions;
  /** The recording to clone, for a model that clones. */
  sample?: VoiceSample;
  /** Factor between the requested speed and the speed passed to the library. Default: 1. */
  speedFactor?: number;
}

const kindNames = {
  vits: 'VITS',
  matcha: 'Matcha',
  kokoro: 'Kokoro',
  kitten: 'Kitten',
  zipvoice: 'ZipVoice',
  pocket: 'Pocket',
  supertonic: 'Supertonic',
};
/** Memory of a process without a model's weights, measured with a model of a few kilobytes (bench/models.ts). */
const processBytes = 175_000_000;

/** Memory of a process with the model, estimated from its files. */
export const memoryBytesOf = ({ fileBytes }: Model): number => processBytes + fileBytes;

export const toMegabytes = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`;

export const countSpeakers = ({ speakers, zeroShot }: Model): number => zeroShot?.samples.length ?? speakers;

/** All speakers, each with its gain. */
export function speakersOf(model: Model, gainOf: (sid: number) => number): Speaker[] {
  const { blended } = model;
  if (blended) {
    const speakers = speakersOf(blended.source, gainOf);
    return speakers.map((own, sid) => {
      const [main] = blended.styles[sid]?.parts ?? [];
      return toBlended((main && speakers[main.sid]) ?? own, blended, sid);
    });
  }
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

/** The speaker of a blended style. Everything except the style comes from one of its parts. */
export function toBlended(part: Speaker, { source, styles }: BlendedSpeakers, sid: number): Speaker {
  const speeds = source.styles?.speeds ?? [];
  const speed = styles[sid]?.parts.reduce((sum, each) => sum + each.weight * speeds[each.sid]!, 0) ?? Number.NaN;
  const factor = speed / speeds[sid]!;
  return { ...part, sid, ...(factor > 0 && factor < Infinity && { speedFactor: factor }) };
}

const languages = new WeakMap<Model, readonly string[]>();

/** All languages that at least one speaker of the model speaks. */
export function languagesOf(given: Model): readonly string[] {
  const model = given.blended?.source ?? given;
  const known = languages.get(model);
  if (known) return known;
  const speakers = speakersOf(model, () => 0);
  const all = [...new Set([...model.languageCodes, ...speakers.flatMap(({ voice }) => voice.languageCodes)])];
  languages.set(model, all);
  return all;
}

function toSpeaker(model: Model, sid: number, gainDb: number): Speaker {
  const { modelId, kind, card, version, speakers, speakerNames, languageCodes } = model;
  const sample = model.zeroShot?.samples[sid];
  const named = sample?.name ?? speakerNames[sid];
  const listed = card.speakers[sid];
  const own: NamedSpeaker = named === undefined ? {} : (model.speakerOf?.(named) ?? {});
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
    languageCodes: listed?.languageCodes ?? own.languageCodes ?? languageCodes,
    labels: { model: kind, ...card.labels, ...own.labels, ...listed?.labels },
    version,
    gainDb,
  };
  // A sample replaces the speaker's number.
  return { voice, sid: sample ? 0 : sid, extra: own.extra ?? {}, ...(sample && { sample }) };
}

const toIdPart = (name = ''): string =>
  name
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 40);
