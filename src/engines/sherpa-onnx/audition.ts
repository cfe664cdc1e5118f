// Tries out a model: each of its first speakers speaks a sentence, which shows that the model speaks, and how loud it is.
import { gainDbFor } from '../../audio.ts';
import { Failure } from '../../platform/errors.ts';
import { join as joinSamples, type Pcm } from '../../platform/pcm.ts';
import { keepGains } from './gains.ts';
import type { Model } from './model.ts';
import type { ModelPool } from './model-pool.ts';
import type { SpokenBy } from './model-request.ts';
import { toModelText } from './model-request.ts';
import { type Speaker, speakersOf } from './model-voices.ts';
import type { Reference } from './reference.ts';
import { referenceOf } from './voice-samples.ts';

/** Number of speakers whose loudness is measured; further speakers get their mean gain. */
const heardMax = 20;
const audiblePeak = 300;
const auditionMsMax = 120_000;

const sentences: Readonly<Record<string, string>> = {
  de: 'Das Schiff verließ den Hafen früh am Morgen, lange bevor die Sonne aufging.',
  en: 'The boat left the harbour early, long before the sun came up. Nobody on the quay had seen it.',
  es: 'El barco salió del puerto muy temprano, mucho antes de que saliera el sol.',
  fr: 'Le bateau a quitté le port tôt le matin, bien avant le lever du soleil.',
  hi: 'सूरज निकलने से बहुत पहले, नाव सुबह सवेरे बंदरगाह से निकल गई।',
  it: 'La barca lasciò il porto la mattina presto, molto prima che sorgesse il sole.',
  ja: 'ふねは、ひがのぼるずっとまえに、みなとをでました。',
  pt: 'O barco deixou o porto de manhã cedo, muito antes do nascer do sol.',
  ru: 'Лодка вышла из гавани рано утром, задолго до восхода солнца.',
  zh: '天还没亮，那条船就早早地离开了港口。',
};

/** Numbers, which every model can read, for a language without a sentence, or a model that lacks one of its words. */
const numbers = '1, 2, 3, 4, 5, 6, 7, 8, 9, 10.';

function auditionText(model: Model, languageCode: string): string {
  try {
    return toModelText(sentences[new Intl.Locale(languageCode).language] ?? numbers, model);
  } catch {
    return toModelText(numbers, model);
  }
}

/** A pulsed buzz that resembles a voice, as the reference for models that clone. */
function buzz({ modelId, sampleRateHz }: Model): Reference {
  const sampleAt = (_: unknown, i: number) => {
    const seconds = i / sampleRateHz;
    return 20_000 * ((120 * seconds) % 1) * Math.abs(Math.sin(6 * seconds)) - 5_000;
  };
  const samples = Int16Array.from({ length: 3 * sampleRateHz }, sampleAt);
  return { modelId, samples, sampleRateHz, text: 'Hello there.' };
}

async function speakAll(spokenBy: SpokenBy, pool: ModelPool): Promise<Pcm> {
  const pieces = await Array.fromAsync(pool.speak(spokenBy, AbortSignal.timeout(auditionMsMax)));
  const parts = pieces.map((piece) => piece.samples);
  const samples = joinSamples(Int16Array, parts);
  if (samples.length === 0) throw new Failure('engine_error', {}, new Error('the model generated no audio'));
  return { samples, sampleRateHz: pieces[0]!.sampleRateHz };
}

/** Speaks a sentence with the speaker, and returns the speaker's gain. Throws if the model does not speak. */
async function hearSpeaker(model: Model, speaker: Speaker, pool: ModelPool): Promise<number> {
  const { sample, voice } = speaker;
  const text = auditionText(model, voice.languageCodes[0]!);
  const by = { model, speaker, text, ...(sample && { reference: await referenceOf(model, sample) }) };
  const pcm = await speakAll(by, pool);
  if (!pcm.samples.some((value) => Math.abs(value) > audiblePeak)) {
    throw new Failure('engine_error', {}, new Error(`${voice.voiceId} generates no audio`));
  }
  return Math.round(10 * gainDbFor(pcm)) / 10;
}

/** Speaks a sentence with the model's first speakers, and returns their gains. Throws if the model does not speak. */
export async function tryOutModel(model: Model, pool: ModelPool, speakersMax = 1): Promise<number[]> {
  const speakers = speakersOf(model, () => 0).slice(0, speakersMax);
  const gains: number[] = [];
  for (const speaker of speakers) gains.push(await hearSpeaker(model, speaker, pool));
  if (speakers.length === 0) await speakAll({ model, text: 'Hello there.', reference: buzz(model) }, pool);
  return gains;
}

/** Tries out a model before it is imported, and stores the gains of its speakers beside it. */
export async function auditionModel(model: Model, pool: ModelPool): Promise<void> {
  await keepGains(model, await tryOutModel(model, pool, heardMax));
}

/** The reason why a model does not speak, for operators. */
export function auditionFault(model: Model, error: unknown): string {
  const { cause, message } = error as Error;
  return `${model.modelId} cannot be loaded or does not speak: ${cause instanceof Error ? cause.message : message}`;
}
