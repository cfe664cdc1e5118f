// The voices of a model, one for each speaker. They are named after the model's folder: "amy" where it has one speaker, else
// "kokoro-af_bella" where the speaker has a name and "vctk-12" where it has only a number.
import type { Voice } from '../engine.ts';
import type { LibraryOptions, Model, NamedSpeaker } from './model.ts';

/** A voice of a model, as the library addresses it. */
export interface Speaker {
  voice: Voice;
  sid: number;
  extra: LibraryOptions;
}

const kindNames = {
  vits: 'VITS',
  matcha: 'Matcha',
  kokoro: 'Kokoro',
  kitten: 'Kitten',
  zipvoice: 'ZipVoice',
  pocket: 'Pocket',
};

/** All speakers, with the measured gain of each. */
export function speakersOf(model: Model, gainOf: (sid: number) => number): Speaker[] {
  const taken = new Set<string>();
  return Array.from({ length: model.speakers }, (_, sid) => {
    const speaker = toSpeaker(model, sid, gainOf(sid));
    const { voiceId } = speaker.voice;
    // Two of one name keep their numbers.
    const unique = taken.has(voiceId) ? { ...speaker.voice, voiceId: `${model.modelId}-${sid}` } : speaker.voice;
    taken.add(unique.voiceId);
    return { ...speaker, voice: unique };
  });
}

function toSpeaker(model: Model, sid: number, gainDb: number): Speaker {
  const { modelId, kind, card, version, speakers, speakerNames, languageCodes } = model;
  const named = speakerNames[sid];
  const listed = card.speakers[sid];
  const own: NamedSpeaker = named === undefined ? {} : (model.speakerOf?.(named) ?? {});
  const ownName = listed?.name ?? named ?? String(sid);
  const modelName = card.name ?? modelId;
  const description = listed?.description ?? card.description ?? `A neural voice of your own (${kindNames[kind]}).`;
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
  return { voice, sid, extra: own.extra ?? {} };
}

const toIdPart = (name = ''): string =>
  name
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 40);
