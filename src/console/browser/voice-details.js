// One voice: what it is, who speaks it, who agreed to it; and what can be done with it.
/** @import { Child } from './element.js' */
/** @import { Desk } from './page.d.ts' */
/** @import { Voice } from './wire.d.ts' */
import { element, fill } from './element.js';
import { loading } from './notices.js';
import { changeCard } from './voice-changes.js';
import { toLanguageName } from './voice-names.js';
import { createPreview } from './voice-picker.js';
import { previewButton, statusChip, toVoicePath } from './voice-words.js';
import { toDay } from './wording.js';

/** How often a voice that is being made is asked about. */
const pollMs = 2_000;

/** @param {Desk} desk */
export async function showVoice(desk) {
  const { room, api, rest, signal, say, may } = desk;
  const path = toVoicePath(rest[0] ?? '');
  const preview = createPreview(desk);
  /** @param {Voice} voice */
  const show = (voice) => {
    preview.stop();
    const { name, description, voice_id, status, kind } = voice;
    fill(
      room,
      element('a', { class: 'back', href: '#/voices' }, '‹ Voices'),
      element(
        'div',
        { class: 'page-head' },
        element(
          'div',
          {},
          element(
            'h1',
            { tabindex: -1 },
            name,
            ' ',
            kind === 'cloned' && element('span', { class: 'chip' }, 'cloned'),
            ' ',
            statusChip(voice),
          ),
          element('p', { class: 'lead' }, description),
        ),
        element(
          'div',
          { class: 'row' },
          previewButton(preview, voice),
          status === 'ready' &&
            may('speech:stream') &&
            element('a', { class: 'button main', href: `#/speak/${encodeURIComponent(voice_id)}` }, 'Speak with it'),
        ),
      ),
      element(
        'div',
        { class: 'columns' },
        aboutCard(voice),
        element(
          'div',
          {},
          consentCard(voice),
          may('voices:write') ? changeCard({ voice, desk, onChange: show }) : unchangeable(),
        ),
      ),
    );
  };

  fill(room, loading('Loading the voice …'));
  let voice = await api.ask(path, { signal });
  show(voice);
  while (voice.status === 'pending' && !signal.aborted) {
    await new Promise((resolve) => setTimeout(resolve, pollMs));
    voice = await api.ask(path, { signal });
    if (voice.status === 'pending') continue;
    show(voice);
    say(voice.status === 'ready' ? `${voice.name} can speak.` : `${voice.name} could not be made.`);
  }
}

/** @param {(readonly [string, Child | Child[]])[]} facts */
const factList = (facts) =>
  element(
    'dl',
    {},
    ...facts.flatMap(([term, told]) =>
      told === undefined || told === '' ? [] : [element('dt', {}, term), element('dd', {}, told)],
    ),
  );

/** @param {readonly string[]} texts */
const chips = (texts) =>
  element('span', { class: 'chips' }, ...texts.map((text) => element('span', { class: 'chip' }, text)));

/** @param {Voice} voice */
function aboutCard({ voice_id, engine, bindings, language_codes, labels, capabilities, created_at, updated_at }) {
  const { output_formats, sample_rates, speaking_rate } = capabilities;
  const told = Object.entries(labels).map(([name, label]) => `${name}: ${label}`);
  const spokenBy = bindings.map((bound) =>
    bound.voice_id ? `${bound.engine}: ${bound.voice_id}` : `${bound.engine}: a clone`,
  );
  return element(
    'section',
    { class: 'card' },
    element('h2', {}, 'About'),
    factList([
      ['Ask for it as', element('code', {}, voice_id)],
      ['Languages', chips(language_codes.map((code) => `${toLanguageName(code)} (${code})`))],
      ['Spoken by', bindings.length > 0 ? chips(spokenBy) : engine],
      ['Labels', told.length > 0 ? chips(told) : undefined],
      ['Formats', output_formats.join(', ')],
      ['Samples a second', sample_rates.map((rate) => rate.toLocaleString()).join(', ')],
      ['Speed', `${speaking_rate.min} to ${speaking_rate.max}`],
      ['Made', created_at ? toDay(created_at) : 'It came with its engine'],
      ['Changed', updated_at && updated_at !== created_at ? toDay(updated_at) : undefined],
    ]),
  );
}

/** @param {Voice} voice */
function consentCard({ consent }) {
  if (!consent) return undefined;
  const { speaker_name, statement, language_code, given_at, confirmed_by, revoked_at } = consent;
  return element(
    'section',
    { class: 'card' },
    element('h2', {}, 'Consent'),
    element('blockquote', { lang: language_code }, statement),
    factList([
      ['Given by', speaker_name],
      ['Given', given_at ? toDay(given_at) : undefined],
      ['Brought by', element('code', {}, confirmed_by)],
      ['Withdrawn', revoked_at ? toDay(revoked_at) : undefined],
    ]),
  );
}

const unchangeable = () =>
  element('p', { class: 'hint' }, 'This key cannot change voices: it lacks ', element('code', {}, 'voices:write'), '.');
