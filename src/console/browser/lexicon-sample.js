// Plays the pronunciation of a lexicon entry, stored or not, by speaking the equivalent markup.
/** @import { PageContext } from './page.d.ts' */
/** @import { LexiconEntry } from '../../../gen/openapi.ts' */
import { createSamplePlayer } from './sample-player.js';

/**
 * @param {PageContext} pageContext
 * @param {() => string} voiceId
 */
export function createEntrySample({ api, signal, notify, showError }, voiceId) {
  const player = createSamplePlayer({ signal, showError });
  /**
   * @param {LexiconEntry} entry
   * @param {HTMLButtonElement} button
   */
  return (entry, button) =>
    player.toggle(button, async (own) => {
      const sound = { output_format: 'mp3', return_format: 'buffer' };
      const body = { voice_id: voiceId(), language_code: entry.language_code ?? 'und', ssml: toSsml(entry), ...sound };
      const reply = await api.send('/api/audio/speech', { body, signal: own });
      if (reply.headers.get('x-warnings')?.includes('ignored:phoneme'))
        notify('This voice does not support phonemes, so it speaks the word as written.');
      return reply;
    });
}

/** @param {LexiconEntry} entry */
function toSsml({ grapheme, alias, phoneme, alphabet = 'ipa' }) {
  const written = new Text(grapheme);
  const sample = document.implementation.createDocument(null, 'speak');
  const name = phoneme === undefined ? 'sub' : 'phoneme';
  const inner = sample.createElement(name);
  if (phoneme === undefined) inner.setAttribute('alias', alias ?? '');
  else {
    inner.setAttribute('ph', phoneme);
    inner.setAttribute('alphabet', alphabet);
  }
  inner.append(sample.adoptNode(written));
  sample.documentElement.append(inner);
  return new XMLSerializer().serializeToString(sample);
}
