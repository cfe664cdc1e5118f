// The operator's voices, each heard once before it is offered: what flite cannot read makes it trap, fall silent or speak
// with another voice, and how loud a voice is, only its sound can tell.
import { gainDbFor } from '../../audio/loudness.ts';
import type { SpokenPcm } from '../engine.ts';
import { programPath, type VoiceFile, VoiceFileError } from './voice-files.ts';
import { type Speaker, stockSpeakers, toName } from './voices.ts';

/** Speaks the phrase by which voices are judged, with the voice that flite is told of by `args`. */
export type Audition = (args: readonly string[]) => AsyncIterable<SpokenPcm>;

export const auditionText =
  'The boat left the harbour early, long before the sun came up. Nobody on the quay had seen it.';

/** flite speaks at 8 kHz where it falls back on another voice; no voice worth having is so low. */
const sampleRateHzMin = 16_000;
const audiblePeak = 300;

export async function openOwnSpeakers(files: readonly VoiceFile[], audition: Audition): Promise<Speaker[]> {
  return Promise.all(
    files.map(async (file) => {
      const taken = stockSpeakers.some(({ voice }) => voice.voiceId === file.voiceId);
      if (taken) throw new VoiceFileError(file.path, 'has the name of a voice that is there already; rename it');
      return toSpeaker(file, audition);
    }),
  );
}

async function toSpeaker(
  { voiceId, path, version, features, ownName }: VoiceFile,
  audition: Audition,
): Promise<Speaker> {
  const args = ['-voice', programPath(voiceId)];
  const samples: number[] = [];
  let sampleRateHz = 0;
  try {
    for await (const piece of audition(args)) {
      for (const sample of piece.samples) samples.push(sample);
      sampleRateHz = piece.sampleRateHz;
    }
  } catch (error) {
    throw new VoiceFileError(path, `is damaged: ${((error as Error).cause as Error)?.message ?? error}`, error);
  }
  if (sampleRateHz < sampleRateHzMin) throw new VoiceFileError(path, 'is damaged: flite speaks with another voice');
  const pcm = { samples: Int16Array.from(samples), sampleRateHz };
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
    sampleRateHz,
  };
}

const languageCodesOf = (country = ''): string[] => {
  if (/^usa?$/i.test(country)) return ['en-US', 'en'];
  if (/^(uk|gb|britain|england|scotland|wales)$/i.test(country)) return ['en-GB', 'en'];
  return ['en'];
};

/** The feature as a label, where its maker gave it. */
const labelOf = (name: string, features: ReadonlyMap<string, string>): Record<string, string> => {
  const value = features.get(name);
  return value === undefined || value === 'unknown' || value === 'none' ? {} : { [name]: value.toLowerCase() };
};
