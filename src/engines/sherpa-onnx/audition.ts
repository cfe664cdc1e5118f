// A model is heard: that it loads and speaks shows only in its process, and how loud its speakers are only in their sound.
// Before it is taken in, its first speaker says a sentence; the others are heard when it is in use (hearing.ts).

import { gainDbFor } from '../../audio/loudness.ts';
import { join as joinSamples, type Pcm } from '../../audio/pcm.ts';
import { Failure } from '../../errors.ts';
import { keepGains } from './gains.ts';
import type { Model } from './model.ts';
import type { ModelPool } from './model-pool.ts';
import type { SpokenBy } from './model-request.ts';
import { ownWords, toModelText } from './model-text.ts';
import { type Speaker, speakersOf } from './model-voices.ts';
import type { Reference } from './reference.ts';
import { referenceOf } from './voice-samples.ts';

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

/** A sentence in the language; where there is none, or the model lacks a word of it, words that the model has. */
async function auditionText(model: Model, languageCode: string): Promise<string> {
  const sentence = sentences[new Intl.Locale(languageCode).language];
  const text = sentence === undefined ? '' : await toModelText(sentence, model).catch(() => '');
  return text === '' ? toModelText(await ownWords(model), model) : text;
}

/** A reference that resembles a voice, for models that clone: a buzz that comes and goes. */
function buzz({ modelId, sampleRateHz }: Model): Reference {
  const sampleAt = (_: unknown, i: number) => {
    const seconds = i / sampleRateHz;
    return 20_000 * ((120 * seconds) % 1) * Math.abs(Math.sin(6 * seconds)) - 5_000;
  };
  const samples = Int16Array.from({ length: 3 * sampleRateHz }, sampleAt);
  return { modelId, samples, sampleRateHz, text: 'Hello there.' };
}

async function speakAll(spokenBy: SpokenBy, pool: ModelPool, signal?: AbortSignal): Promise<Pcm> {
  const timeout = AbortSignal.timeout(auditionMsMax);
  const pieces = await Array.fromAsync(pool.speak(spokenBy, signal ? AbortSignal.any([signal, timeout]) : timeout));
  const parts = pieces.map((piece) => piece.samples);
  const samples = joinSamples(Int16Array, parts);
  if (samples.length === 0) throw new Failure('engine_error', {}, new Error('it answers with no sound at all'));
  return { samples, sampleRateHz: pieces[0]!.sampleRateHz };
}

/** Has the speaker say a sentence, and measures the gain that it needs. Throws where it does not speak. */
export async function hearSpeaker(
  model: Model,
  speaker: Speaker,
  pool: ModelPool,
  signal?: AbortSignal,
): Promise<number> {
  const { sample, voice } = speaker;
  const text = await auditionText(model, voice.languageCodes[0]!);
  const by = { model, speaker, text, ...(sample && { reference: await referenceOf(model, sample) }) };
  const pcm = await speakAll(by, pool, signal);
  if (!pcm.samples.some((value) => Math.abs(value) > audiblePeak)) {
    throw new Failure('engine_error', {}, new Error(`${voice.voiceId} makes no sound`));
  }
  return Math.round(10 * gainDbFor(pcm)) / 10;
}

/** Has the model speak a sentence, with its first speaker, whose gain is the result. Throws where it cannot. */
export async function tryOutModel(model: Model, pool: ModelPool): Promise<number | undefined> {
  const [speaker] = speakersOf(model, () => 0);
  if (speaker) return hearSpeaker(model, speaker, pool);
  await speakAll({ model, text: 'Hello there.', reference: buzz(model) }, pool);
  return undefined;
}

/** Tries out a model that is to be taken in, and keeps what was measured beside it. */
export async function auditionModel(model: Model, pool: ModelPool): Promise<void> {
  const gain = await tryOutModel(model, pool);
  if (gain !== undefined) await keepGains(model, [gain]);
}

/** Why a model does not speak, for operators. */
export function auditionFault(model: Model, error: unknown): string {
  const { cause, message } = error as Error;
  return `${model.modelId} cannot be loaded or does not speak: ${cause instanceof Error ? cause.message : message}`;
}
