// A model speaks before it is offered: that it loads and speaks shows only in its process, and how loud its speakers are
// only in their sound. The measured gains are stored in the model's folder, so that the next start is fast:
//     sonant-gain.json   { "version": "<of the model>", "gains_db": [-1.5, 0.3, ...] }
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { join as joinSamples } from '../../audio/join.ts';
import { gainDbFor } from '../../audio/loudness.ts';
import type { Pcm } from '../../audio/pcm.ts';
import { Failure } from '../../errors.ts';
import type { Model } from './model.ts';
import type { ModelPool, SpokenBy } from './model-pool.ts';
import { ownWords, toModelText } from './model-text.ts';
import { type Speaker, speakersOf } from './model-voices.ts';
import type { Reference } from './reference.ts';

const gainName = 'sonant-gain.json';
/** So many speakers are measured; further ones get their mean gain. */
const measuredMax = 200;
const audiblePeak = 300;
const auditionMsMax = 120_000;

const sentences: Readonly<Record<string, string>> = {
  de: 'Das Schiff verließ den Hafen früh am Morgen, lange bevor die Sonne aufging.',
  en: 'The boat left the harbour early, long before the sun came up. Nobody on the quay had seen it.',
  es: 'El barco salió del puerto muy temprano, mucho antes de que saliera el sol.',
  fr: 'Le bateau a quitté le port tôt le matin, bien avant le lever du soleil.',
  it: 'La barca lasciò il porto la mattina presto, molto prima che sorgesse il sole.',
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

/** The stored gains of a model's speakers; undefined where there are none for this version. */
async function readGains({ folder, version, speakers }: Model): Promise<number[] | undefined> {
  try {
    const { version: measured, gains_db: gains } = JSON.parse(await readFile(join(folder, gainName), 'utf8'));
    const isRight = measured === version && Array.isArray(gains) && gains.length === speakers;
    return isRight && gains.every((gain) => Number.isFinite(gain)) ? gains : undefined;
  } catch {
    return undefined;
  }
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

async function speakAll(spokenBy: SpokenBy, pool: ModelPool): Promise<Pcm> {
  const pieces = await Array.fromAsync(pool.speak(spokenBy, AbortSignal.timeout(auditionMsMax)));
  const parts = pieces.map((piece) => piece.samples);
  const samples = joinSamples(Int16Array, parts);
  if (samples.length === 0) throw new Failure('engine_error', {}, new Error('it answers with no sound at all'));
  return { samples, sampleRateHz: pieces[0]!.sampleRateHz };
}

async function tryOutSpeaker(model: Model, speaker: Speaker, pool: ModelPool): Promise<Pcm> {
  const text = await auditionText(model, speaker.voice.languageCodes[0]!);
  const pcm = await speakAll({ model, speaker, text }, pool);
  if (pcm.samples.some((sample) => Math.abs(sample) > audiblePeak)) return pcm;
  throw new Failure('engine_error', {}, new Error(`${speaker.voice.voiceId} makes no sound`));
}

/** Has the model speak a sentence. Throws where it cannot. */
export async function tryOutModel(model: Model, pool: ModelPool): Promise<void> {
  const [speaker] = speakersOf(model, () => 0);
  if (speaker) await tryOutSpeaker(model, speaker, pool);
  else await speakAll({ model, text: 'Hello there.', reference: buzz(model) }, pool);
}

async function measureGains(model: Model, pool: ModelPool): Promise<number[]> {
  if (model.zeroShot) await tryOutModel(model, pool);
  const gains: number[] = [];
  for (const speaker of speakersOf(model, () => 0).slice(0, measuredMax)) {
    gains.push(Math.round(10 * gainDbFor(await tryOutSpeaker(model, speaker, pool))) / 10);
  }
  const mean = gains.reduce((sum, gain) => sum + gain, 0) / (gains.length || 1);
  return Array.from({ length: model.speakers }, (_, sid) => gains[sid] ?? mean);
}

/** Has every speaker of the model speak a sentence, unless gains are stored. Throws where one cannot. */
export async function auditionModel(model: Model, pool: ModelPool): Promise<readonly number[]> {
  const known = await readGains(model);
  if (known) return known;
  const gains = await measureGains(model, pool);
  const path = join(model.folder, gainName);
  const text = `${JSON.stringify({ version: model.version, gains_db: gains })}\n`;
  // Where the folder is not writable, the next start measures again.
  await writeFile(`${path}.new`, text).then(
    () => rename(`${path}.new`, path),
    () => undefined,
  );
  return gains;
}

/** Why a model does not speak, for operators. */
export function auditionFault(model: Model, error: unknown): string {
  const { cause, message } = error as Error;
  return `${model.modelId} cannot be loaded or does not speak: ${cause instanceof Error ? cause.message : message}`;
}
