// One voice: what it is, who speaks it, who agreed to it; and what can be done with it.
/** @import { Child } from './element.js' */
/** @import { Desk } from './page.d.ts' */
/** @import { Voice } from './wire.d.ts' */
import { element, fill } from './element.js';
import { clearFaults, field, showRefusal } from './field.js';
import { isSure } from './sureness.js';
import { toLanguageName } from './voice-names.js';
import { createPreview } from './voice-picker.js';
import { previewButton, statusChip, toVoicePath } from './voice-words.js';
import { toDay } from './wording.js';

/** How often a voice that is being made is asked about. */
const pollMs = 2_000;

/** @param {Desk} desk */
export async function showVoice(desk) {
  const { room, api, rest, signal, say, complain, may } = desk;
  const path = toVoicePath(rest[0] ?? '');
  const preview = createPreview(desk);
  /** @type {(work: () => Promise<Voice | undefined>, said: string) => Promise<void>} */
  const change = async (work, said) => {
    try {
      const voice = await work();
      if (!voice) return;
      show(voice);
      room.querySelector('h1')?.focus();
      say(said);
    } catch (error) {
      if (!signal.aborted) complain(error);
    }
  };

  /** @param {Voice} voice */
  const show = (voice) => {
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
          element('p', { class: 'lead' }, description || 'Nothing more is said about it.'),
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
        element('div', {}, consentCard(voice), may('voices:write') ? changeCard(voice) : unchangeable()),
      ),
    );
  };

  /** @param {Voice} voice */
  const changeCard = (voice) => {
    const isRevoked = voice.status === 'consent_revoked';
    return element(
      'section',
      { class: 'card' },
      element('h2', {}, 'Change'),
      !isRevoked && nameForm(voice),
      element(
        'div',
        { class: 'row endings' },
        !isRevoked && enableButton(voice),
        revokeButton(voice),
        deleteButton(voice),
      ),
    );
  };

  /** @param {Voice} voice */
  const nameForm = ({ name, description }) => {
    const nameInput = element('input', { name: 'name', value: name, maxlength: 200, required: true });
    const about = element('textarea', { name: 'description', rows: 2, maxlength: 1000 }, description);
    const form = element(
      'form',
      { novalidate: true },
      field({ name: 'name', label: 'Name', control: nameInput }),
      field({ name: 'description', label: 'Description', control: about }),
      element('button', { type: 'submit' }, 'Save'),
    );
    form.addEventListener('submit', async (event) => {
      event.preventDefault();
      clearFaults(form);
      await change(async () => {
        const body = { name: nameInput.value.trim(), description: about.value.trim() };
        try {
          return await api.ask(path, { method: 'PATCH', body });
        } catch (error) {
          showRefusal(form, error);
          return undefined;
        }
      }, 'Saved.');
    });
    return form;
  };

  /** @param {Voice} voice */
  const enableButton = ({ name, status }) => {
    const enabled = status === 'disabled';
    const said = enabled ? `${name} can speak again.` : `${name} is switched off.`;
    const onclick = () => change(() => api.ask(path, { method: 'PATCH', body: { enabled } }), said);
    return element('button', { type: 'button', onclick }, enabled ? 'Switch on' : 'Switch off');
  };

  /** @param {Voice} voice */
  const revokeButton = ({ kind, name, consent }) => {
    if (kind !== 'cloned' || !consent || consent.revoked_at) return undefined;
    const onclick = () =>
      change(async () => {
        const isMeant = await isSure({
          title: `Withdraw the consent of ${consent.speaker_name}?`,
          text: `${name} falls silent at once and for good. What it was made of is destroyed, and all stored audio of it. This cannot be undone.`,
          yes: 'Withdraw it',
          no: 'Keep the voice',
        });
        return isMeant ? api.ask(`${path}/consent/revoke`, { method: 'POST' }) : undefined;
      }, 'The consent is withdrawn.');
    return element('button', { type: 'button', class: 'danger', onclick }, 'Withdraw consent');
  };

  /** @param {Voice} voice */
  const deleteButton = ({ kind, name, created_at }) => {
    if (created_at === null) return undefined;
    const onclick = async () => {
      const more = kind === 'cloned' ? ' What it was made of goes with it, and all stored audio of it.' : '';
      const question = {
        title: `Delete ${name}?`,
        text: `Whoever asks for it hears that there is no such voice.${more} This cannot be undone.`,
        yes: 'Delete it',
        no: 'Keep it',
      };
      if (!(await isSure(question))) return;
      try {
        await api.ask(path, { method: 'DELETE' });
        location.hash = '#/voices';
        say(`${name} is deleted.`);
      } catch (error) {
        complain(error);
      }
    };
    return element('button', { type: 'button', class: 'danger', onclick }, 'Delete');
  };

  fill(room, element('p', { class: 'hint', role: 'status' }, 'Loading the voice …'));
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
