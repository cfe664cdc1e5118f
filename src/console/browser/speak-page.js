// The page where a text is written, spoken, and heard while it is being spoken.
/** @import { Listening } from './listening.js' */
/** @import { Desk, Page } from './page.d.ts' */
/** @import { Speech } from './speech-run.js' */
/** @import { Voice } from './wire.d.ts' */
import { element, fill } from './element.js';
import { icon } from './icon.js';
import { keep, recall } from './kept.js';
import { listen } from './listening.js';
import { createLitText } from './lit-text.js';
import { loading } from './notices.js';
import { createSoundContext } from './player.js';
import { createCode, createDownload } from './speech-file.js';
import { moments } from './speech-run.js';
import { createSpeechSettings } from './speech-settings.js';
import { countChars, textCharsMax, toChunks } from './text-chunks.js';
import { createPreview } from './voice-picker.js';

const draft = 'sonant-text';
const firstText =
  'Hello. Whatever is written here, I read aloud, and you hear it while I am still speaking. ' +
  'Choose another voice, change the speed, and listen again.';

/** @type {Page} */
export const speakPage = {
  name: 'speak',
  title: 'Speak',
  scope: 'speech:stream',
  async show(desk) {
    const { room, api, may, signal } = desk;
    fill(room, loading('Looking for voices …'));
    const all = may('voices:read') ? /** @type {Voice[]} */ (await api.list('/api/voices', 'voices', { signal })) : [];
    const voices = all.filter(({ status }) => status === 'ready');
    if (voices.length > 0) showSpeaking(desk, voices);
    else fill(room, element('h1', {}, 'Speak'), element('p', { class: 'lead' }, whyNoVoice(may('voices:read'))));
  },
};

/** @param {boolean} mayRead */
const whyNoVoice = (mayRead) =>
  mayRead ? 'There is no voice that could speak.' : 'This key may speak, but not see the voices: it lacks voices:read.';

/**
 * @param {Desk} desk
 * @param {readonly Voice[]} voices
 */
function showSpeaking({ room, api, rest, signal, say, complain }, voices) {
  const litText = createLitText({ id: 'text', 'aria-describedby': 'count', placeholder: 'What shall be said?' });
  litText.text = recall(draft) ?? firstText;
  const preview = createPreview({ api, signal, complain });
  const settings = createSpeechSettings({ voices, voiceId: rest[0], preview, onChange: () => code.show() });
  const count = element('span', { id: 'count', class: 'count' });
  const speak = element('button', { type: 'button', class: 'main say' });
  const place = element('div', { class: 'heard' }, emptySound());
  const told = element('p', { class: 'sr-only', role: 'status' });
  const after = element('div', { class: 'after', hidden: true });
  const fileOptions = { api, signal, say, complain };
  const code = createCode(() => ({ speech: toSpeech(), format: 'wav' }), fileOptions);
  /** @type {Listening | undefined} */
  let listening;
  /** Ends with what can be taken along of the last sound. */
  let taking = new AbortController();
  let begun = 0;
  /** One context for each sample rate, kept as long as the page. @type {Map<number, ReturnType<typeof createSoundContext>>} */
  const sounds = new Map();

  /** @returns {Speech} */
  const toSpeech = () => ({ ...settings.asked, chunks: toChunks(litText.text) });
  const sound = () => {
    const rate = settings.sampleRateHz;
    const made = sounds.get(rate) ?? createSoundContext(rate);
    sounds.set(rate, made);
    return made;
  };
  const isComing = () => listening?.state === 'coming';
  const showButton = () => {
    const parts = isComing() ? [icon('stop'), 'Stop'] : [icon('play'), 'Speak'];
    fill(speak, ...parts, element('kbd', { 'aria-hidden': 'true' }, isComing() ? 'Esc' : 'Ctrl ↵'));
    const chars = countChars(litText.text);
    count.textContent = `${chars.toLocaleString()} of ${textCharsMax.toLocaleString()}`;
    count.classList.toggle('over', chars > textCharsMax);
    speak.disabled = !isComing() && (litText.text.trim() === '' || chars > textCharsMax);
  };
  const begin = async () => {
    for (const name of Object.values(moments)) performance.clearMarks(name);
    performance.clearMeasures(moments.firstSound);
    performance.mark(moments.click);
    preview.stop();
    taking.abort();
    fill(after);
    after.hidden = true;
    const own = ++begun;
    // A context plays one thing at a time.
    await listening?.close();
    // It may have been asked for once more meanwhile, or the page was left.
    if (own !== begun || signal.aborted) return;
    listening = listen({ api, speech: toSpeech(), sound: sound(), litText, onEnd: showEnd });
    fill(place, listening.root);
    showButton();
    fill(told, 'Speaking');
  };
  /** @param {'done' | 'stopped' | 'failed'} how */
  const showEnd = (how) => {
    showButton();
    fill(told, { done: 'All is spoken', stopped: 'Stopped', failed: '' }[how]);
    if (how !== 'done' || !listening) return;
    const { speech, samples } = listening;
    const voice = voices.find(({ voice_id }) => voice_id === speech.voiceId);
    const formats = voice?.capabilities.output_formats ?? [];
    taking = new AbortController();
    const left = AbortSignal.any([signal, taking.signal]);
    fill(after, createDownload({ speech, formats, samples }, { ...fileOptions, signal: left }));
    after.hidden = false;
  };
  const stop = () => {
    if (isComing()) listening?.stop();
  };

  litText.field.addEventListener('input', () => {
    keep(draft, litText.text, 'tab');
    showButton();
    code.show();
  });
  speak.addEventListener('click', () => (isComing() ? stop() : begin()));
  room.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') stop();
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || speak.disabled) return;
    event.preventDefault();
    void begin();
  });
  // Made ready at the first touch, it does not keep the first sound waiting.
  room.addEventListener('pointerdown', sound, { once: true, signal });
  room.addEventListener('keydown', sound, { once: true, signal });
  signal.addEventListener('abort', async () => {
    await listening?.close();
    for (const { context } of sounds.values()) void context.close();
  });
  addEventListener('resize', () => listening?.redraw(), { signal });

  const isWide = matchMedia('(min-width: 60rem)');
  const unfold = () => {
    settings.root.open = isWide.matches;
  };
  isWide.addEventListener('change', unfold, { signal });
  unfold();
  fill(
    room,
    element('h1', { class: 'sr-only' }, 'Speak'),
    element(
      'div',
      { class: 'desk' },
      settings.root,
      element(
        'div',
        { class: 'card writing' },
        element('label', { for: 'text' }, 'Text'),
        litText.root,
        element('div', { class: 'row' }, count, speak),
      ),
      place,
      after,
      code.root,
      told,
    ),
  );
  settings.begin();
  showButton();
}

/** What stands where the sound will be. */
const emptySound = () =>
  element(
    'section',
    { class: 'card sound empty', 'aria-label': 'Sound' },
    element('p', {}, 'The sound appears here as it comes.'),
  );
