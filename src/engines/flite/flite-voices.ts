// The built-in voices: flite's four voices, and three of them also at a different pitch. The gains bring them to -21
// LUFS (measured with ffmpeg's ebur128 over twelve sentences).
import type { Voice } from '../engine.ts';

/** A voice, with flite's parameters. */
export interface Speaker {
  voice: Voice;
  args: readonly string[];
  /** flite's `duration_stretch` at rate 1. */
  stretch: number;
  sampleRateHz: number;
  /** Whether the speaker's pitch can be changed. */
  isPitched?: boolean;
}

/** flite's model names. `kal` is excluded: its sample rate is 8 kHz, and flite uses it for any unknown name. */
type Model = 'rms' | 'awb' | 'slt' | 'kal16';

interface StockVoice {
  voiceId: string;
  character: string;
  model: Model;
  /** Mean pitch, if it differs from that of the model. The pitch of every model but rms can be changed. */
  pitchHz?: number;
  gainDb: number;
}

const models: Record<Model, { speaker: string; gender: string; accent: string; stretch: number }> = {
  rms: { speaker: 'American man', gender: 'male', accent: 'american', stretch: 1 },
  awb: { speaker: 'Scottish man', gender: 'male', accent: 'scottish', stretch: 1 },
  slt: { speaker: 'American woman', gender: 'female', accent: 'american', stretch: 1 },
  kal16: { speaker: 'American man', gender: 'male', accent: 'american', stretch: 1.1 },
};

const stockVoices: readonly StockVoice[] = [
  { voiceId: 'arthur', character: 'deep and level, the clearest of all', model: 'rms', gainDb: 0.7 },
  { voiceId: 'fergus', character: 'lively and warm', model: 'awb', gainDb: -0.1 },
  { voiceId: 'clara', character: 'bright and brisk', model: 'slt', gainDb: -4.6 },
  { voiceId: 'otto', character: 'clipped like a robot, and the fastest', model: 'kal16', gainDb: 7.3 },
  { voiceId: 'nora', character: 'low and calm', model: 'slt', pitchHz: 140, gainDb: -2.5 },
  { voiceId: 'angus', character: 'deep and steady', model: 'awb', pitchHz: 110, gainDb: -0.6 },
  { voiceId: 'milo', character: 'a light, young robot, as fast as Otto', model: 'kal16', pitchHz: 130, gainDb: 5.9 },
];

const sampleRateHz = 16_000;

const toName = (voiceId: string): string => voiceId.charAt(0).toUpperCase() + voiceId.slice(1);

/** The first voice is the default. */
export const stockSpeakers: readonly Speaker[] = stockVoices.map(({ voiceId, character, model, pitchHz, gainDb }) => {
  const { speaker, gender, accent, stretch } = models[model];
  const source = pitchHz === undefined ? model : `${model} at ${pitchHz} Hz`;
  return {
    voice: {
      voiceId,
      name: toName(voiceId),
      description: `${speaker}, ${character} (${source})`,
      kind: 'stock',
      engine: 'flite',
      languageCodes: accent === 'scottish' ? ['en-GB', 'en'] : ['en-US', 'en'],
      labels: { gender, accent, base: model },
      version: '2.3',
      gainDb,
    },
    args: ['-voice', model, ...(pitchHz === undefined ? [] : ['--setf', `int_f0_target_mean=${pitchHz}`])],
    stretch,
    sampleRateHz,
    // The pitch of rms cannot be changed.
    isPitched: model !== 'rms',
  };
});
