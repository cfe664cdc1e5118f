// Makes a voice of a blend: the model mixes the styles of its speakers by their weights.
import { createHash } from 'node:crypto';
import { type Blend, languagesOfBlend } from '../engine.ts';
import type { InstalledVoice } from './voice-folders.ts';

const idChars = 16;

/** The voice of a blend; undefined if a part is missing, or if the parts are of different models. */
export function toBlended(
  blend: Blend,
  find: (voiceId: string) => InstalledVoice | undefined,
): InstalledVoice | undefined {
  const parts = blend.flatMap(({ voiceId, weight }) => {
    const installed = find(voiceId);
    return installed ? { installed, weight } : [];
  });
  const first = parts[0]?.installed;
  if (!first || parts.length < blend.length || parts.some(({ installed }) => installed.model !== first.model))
    return undefined;
  const speakers = parts
    .filter(({ weight }) => weight > 0)
    .flatMap(({ installed, weight }) => installed.speakers.map(({ id }) => ({ id, weight })));
  const facts = JSON.stringify([first.model, first.voice.voiceId, speakers]);
  const id = createHash('sha256').update(facts).digest('hex').slice(0, idChars);
  const voice = {
    ...first.voice,
    voiceId: `${first.model.split(' ', 1)[0]}-blend-${id}`,
    name: parts.map(({ installed, weight }) => `${installed.voice.name} ${weight}`).join(', '),
    languageCodes: languagesOfBlend(parts.map(({ installed }) => installed.voice)),
    gainDb: Math.round(10 * parts.reduce((sum, part) => sum + part.weight * part.installed.voice.gainDb, 0)) / 10,
  };
  return { ...first, voice, speakers };
}
