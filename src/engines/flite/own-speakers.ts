// Voices that the operator imported. Each speaks a phrase before it is offered: a file that flite cannot read makes it trap,
// stay silent or speak with another voice, and the loudness of a voice is measured on its sound.

import { gainDbFor } from '../../audio/loudness.ts';
import { join } from '../../audio/pcm.ts';
import type { SpokenPcm } from '../engine.ts';
import { programPath, type VoiceFile, VoiceFileError } from './voice-files.ts';
import { type Speaker, stockSpeakers, toName } from './voices.ts';

/** Speaks the phrase by which voices are checked, with the voice that `args` name. */
export type Audition = (args: readonly string[]) => AsyncIterable<SpokenPcm>;

export const auditionText =
  'The boat left the harbour early, long before the sun came up. Nobody on the quay had seen it.';

/** flite falls back on a voice of 8 kHz; no voice worth importing has so low a rate. */
const sampleRateHzMin = 16_000;
const audiblePeak = 300;

export async function openOwnSpeakers(files: readonly VoiceFile[], audition: Audition): Promise<Speaker[]> {
  const speakers: Speaker[] = [];
  for (const file of files) {
    const taken = stockSpeakers.some(({ voice }) => voice.voiceId === file.voiceId);
    if (taken) throw new VoiceFileError(file.path, 'has the name of a voice that is there already; rename it');
    speakers.push(await toSpeaker(file, audition));
  }
  return speakers;
}

async function toSpeaker(
  { voiceId, path, version, features, ownName }: VoiceFile,
  audition: Audition,
): Promise<Speaker> {
  const args = ['-voice', programPath(voiceId)];
  const pieces = await Array.fromAsync(audition(args)).catch((error) => {
    throw new VoiceFileError(path, `is damaged: ${error.cause?.message ?? error}`, error);
  });
  const parts = pieces.map(({ samples }) => samples);
  const pcm = { samples: join(Int16Array, parts), sampleRateHz: pieces[0]?.sampleRateHz ?? 0 };
  if (pcm.sampleRateHz < sampleRateHzMin) throw new VoiceFileError(path, 'is damaged: flite speaks with another voice');
  if (!pcm.samples.some((sample) => Math.abs(sample) > audiblePeak)) throw new VoiceFileError(path, 'makes no sound');
  return {
    voice: {
      voiceId,
      name: toName(voiceId),
      description: `The operator's own (${ownName})`,
      kind: 'stock',
      engine: 'flite',
      languageCodes: languageCodesOf(features.get('country')),
      labels: { ...labelOf('gender', features), ...labelOf('country', features), base: ownName },
      version,
      gainDb: gainDbFor(pcm),
    },
    args,
    stretch: 1,
    sampleRateHz: pcm.sampleRateHz,
  };
}

const languageCodesOf = (country = ''): string[] => {
  if (/^usa?$/i.test(country)) return ['en-US', 'en'];
  if (/^(uk|gb|britain|england|scotland|wales)$/i.test(country)) return ['en-GB', 'en'];
  return ['en'];
};

/** The feature as a label, where the voice file states it. */
const labelOf = (name: string, features: ReadonlyMap<string, string>): Record<string, string> => {
  const value = features.get(name);
  return value === undefined || value === 'unknown' || value === 'none' ? {} : { [name]: value.toLowerCase() };
};
