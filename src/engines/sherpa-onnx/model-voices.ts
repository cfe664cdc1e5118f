// The voices of a model, one for each speaker, or for each recording that comes with a model for cloning. They are named
// after the model's folder: "amy" where it has one speaker, else "kokoro-af_bella" where the speaker has a name and
// "vctk-12" where it has only a number.
import type { Voice } from '../engine.ts';
import type { BlendedSpeakers, LibraryOptions, Model, NamedSpeaker, VoiceSample } from './model.ts';

/** A voice of a model, as the library addresses it. */
export interface Speaker {
  voice: Voice;
  sid: number;
  extra: LibraryOptions;
  /** The recording that it is cloned from, for a model that clones. */
  sample?: VoiceSample;
  /** By what the library is told another speed than it is to speak at. Default: 1. */
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
/** Measured with a model of a few kilobytes (bench/models.ts): what a process takes before any weights. */
const processBytes = 175_000_000;

/** What a process with the model takes in memory, estimated from its files. */
export const memoryBytesOf = ({ fileBytes }: Model): number => processBytes + fileBytes;

export const toMegabytes = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`;

export const countSpeakers = ({ speakers, zeroShot }: Model): number => zeroShot?.samples.length ?? speakers;

/** All speakers, with the gain of each. */
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
    // Two of one name keep their numbers.
    const unique = taken.has(voiceId) ? { ...speaker.voice, voiceId: `${model.modelId}-${sid}` } : speaker.voice;
    taken.add(unique.voiceId);
    return { ...speaker, voice: unique };
  });
}

/** The speaker of a blended style. All that is no matter of style is that of one of its parts. */
export function toBlended(part: Speaker, { source, styles }: BlendedSpeakers, sid: number): Speaker {
  const speeds = source.styles?.speeds ?? [];
  const speed = styles[sid]?.parts.reduce((sum, each) => sum + each.weight * speeds[each.sid]!, 0) ?? Number.NaN;
  const factor = speed / speeds[sid]!;
  return { ...part, sid, ...(factor > 0 && factor < Infinity && { speedFactor: factor }) };
}

const languages = new WeakMap<Model, readonly string[]>();

/** All languages that any of its speakers speaks. */
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
  // A sample takes the place of a number.
  return { voice, sid: sample ? 0 : sid, extra: own.extra ?? {}, ...(sample && { sample }) };
}

const toIdPart = (name = ''): string =>
  name
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 40);
