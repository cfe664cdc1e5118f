// Plays how an entry of a lexicon is said, whether the lexicon is stored or not: as the markup that the entry stands for.
/** @import { PageContext } from './page.d.ts' */
/** @import { LexiconEntry } from './wire.d.ts' */
import { fill } from './element.js';
import { icon } from './icon.js';

/**
 * @param {PageContext} pageContext
 * @param {() => string} voiceId
 */
export function createEntrySample({ api, signal, notify, showError }, voiceId) {
  const audio = new Audio();
  /** @type {HTMLButtonElement | undefined} */
  let playing;
  let loadAbort = new AbortController();
  let objectUrl = '';
  const stop = () => {
    loadAbort.abort();
    audio.pause();
    URL.revokeObjectURL(objectUrl);
    if (!playing) return;
    fill(playing, icon('play'));
    playing.setAttribute('aria-pressed', 'false');
    playing = undefined;
  };
  audio.addEventListener('ended', stop);
  signal.addEventListener('abort', stop);
  /**
   * @param {LexiconEntry} entry
   * @param {HTMLButtonElement} button
   */
  return async (entry, button) => {
    const wasPlaying = playing === button;
    stop();
    if (wasPlaying) return;
    loadAbort = new AbortController();
    const own = loadAbort.signal;
    playing = button;
    fill(button, icon('stop'));
    button.setAttribute('aria-pressed', 'true');
    try {
      const ssml = toSsml(entry);
      const language = entry.language_code ?? 'und';
      const body = {
        voice_id: voiceId(),
        language_code: language,
        ssml,
        output_format: 'mp3',
        return_format: 'buffer',
      };
      const reply = await api.send('/api/audio/speech', { body, signal: own });
      if (reply.headers.get('x-warnings')?.includes('ignored:phoneme'))
        notify('This voice takes no phonemes; it speaks the word plainly.');
      const sample = await reply.blob();
      own.throwIfAborted();
      objectUrl = URL.createObjectURL(sample);
      audio.src = objectUrl;
      await audio.play();
    } catch (error) {
      if (own.aborted) return;
      stop();
      showError(error);
    }
  };
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
