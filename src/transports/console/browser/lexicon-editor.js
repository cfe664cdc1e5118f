// The page of one lexicon: edits the entries in a table, plays them, exports or deletes the lexicon, and chooses the
// voices that use it.
/** @import { Lexicon, LexiconEntry, Voice } from '../../../../gen/openapi.ts' */
/** @import { PageContext } from './page.d.ts' */
import { isConfirmed } from './confirm-dialog.js';
import { element, fill } from './element.js';
import { field, onSubmit } from './field.js';
import { createEntryTable } from './lexicon-entries.js';
import { loading } from './notices.js';
import { accessChip, accessField, toVoicePath } from './voice-elements.js';
import { createSamplePlayer } from './voice-preview.js';

/** @typedef {{ name: string, access: Lexicon['access'], entries: LexiconEntry[] }} Draft */

/** Unsaved changes by lexicon id, kept while the user visits other pages. @type {Map<string, Draft>} */
const drafts = new Map();
addEventListener('beforeunload', (event) => drafts.size > 0 && event.preventDefault());

/**
 * @param {PageContext} pageContext
 * @param {string} lexiconId
 */
export async function showLexicon(pageContext, lexiconId) {
  const { root, api, signal, hasScope } = pageContext;
  const back = element('a', { class: 'back', href: '#/voices/+lexicons' }, '‹ Lexicons');
  fill(root, back, loading('Loading the lexicon …'));
  const path = `/api/lexicons/${encodeURIComponent(lexiconId)}`;
  const [lexicon, voices] = await Promise.all([
    /** @type {Promise<Lexicon & { entries: LexiconEntry[] }>} */ (api.requestJson(path, { signal })),
    /** @type {Promise<Voice[]>} */ (api.list('/api/voices', 'voices', { signal })),
  ]);
  const mayWrite = hasScope('voices:write') && (lexicon.owner === 'self' || hasScope('admin'));
  const ready = voices.filter(({ status }) => status === 'ready');
  const speaker = element(
    'select',
    { 'aria-label': 'Voice to hear it with' },
    ready.map(({ voice_id, name }) => element('option', { value: voice_id }, name)),
  );
  const hear = createEntrySample(pageContext, () => speaker.value);
  const draft = drafts.get(lexiconId);
  const { entries = [] } = draft ?? structuredClone(lexicon);
  const table = createEntryTable({ entries, mayWrite, hear });
  const discard = () => {
    drafts.delete(lexiconId);
    void showLexicon(pageContext, lexiconId);
  };
  fill(
    root,
    back,
    element('h1', { tabindex: -1 }, lexicon.name, ' ', accessChip(lexicon)),
    element('p', { class: 'lead' }, 'Requests use it as ', element('code', {}, lexiconId), ' in lexicon_ids.'),
    draft &&
      element(
        'p',
        { class: 'card row', role: 'status' },
        'Your changes are not stored yet. ',
        element('button', { type: 'button', onclick: discard }, 'Discard them'),
      ),
    editor({ pageContext, path, lexicon, draft, entries, table: table.root, speaker, mayWrite }),
    exportCard(pageContext, path, lexicon),
    boundVoicesCard(pageContext, lexicon, voices),
    mayWrite && deleteCard(pageContext, path, lexicon),
  );
}

/**
 * @param {object} options
 * @param {PageContext} options.pageContext
 * @param {string} options.path
 * @param {Lexicon} options.lexicon
 * @param {Draft | undefined} options.draft
 * @param {LexiconEntry[]} options.entries
 * @param {HTMLElement} options.table
 * @param {HTMLSelectElement} options.speaker
 * @param {boolean} options.mayWrite
 */
function editor({ pageContext, path, lexicon, draft, entries, table, speaker, mayWrite }) {
  const { api, signal, notify, showError } = pageContext;
  const name = element('input', { name: 'name', value: (draft ?? lexicon).name, maxlength: 200, readonly: !mayWrite });
  const access = accessField((draft ?? lexicon).access);
  access.select.disabled = !mayWrite;
  const send = element('button', { type: 'submit', class: 'main', hidden: !mayWrite }, 'Store');
  const form = element(
    'form',
    { class: 'card', novalidate: true },
    element('div', { class: 'pair' }, field({ name: 'name', label: 'Name', control: name }), access.root),
    element('div', { class: 'field' }, element('span', {}, 'Hear it with '), speaker),
    element('div', { 'data-field': 'entries' }, table, element('p', { class: 'field-error' })),
    send,
  );
  const values = () => /** @type {Draft} */ ({ name: name.value.trim(), access: access.select.value, entries });
  let storedText = JSON.stringify({ name: lexicon.name, access: lexicon.access, entries: lexicon.entries ?? [] });
  const keepDraft = () => {
    if (!form.isConnected) return;
    if (JSON.stringify(values()) === storedText) drafts.delete(lexicon.lexicon_id);
    else drafts.set(lexicon.lexicon_id, values());
  };
  signal.addEventListener('abort', keepDraft);
  addEventListener('beforeunload', keepDraft, { signal, capture: true });
  onSubmit(form, showError, async () => {
    const body = values();
    const sentText = JSON.stringify(body);
    const stored = await api.requestJson(path, { method: 'PUT', body, signal });
    storedText = sentText;
    drafts.delete(lexicon.lexicon_id);
    notify(`${stored.name} is stored.`);
  });
  return form;
}

/**
 * @param {PageContext} pageContext
 * @param {string} path
 * @param {Lexicon & { entries: LexiconEntry[] }} lexicon
 */
function exportCard({ api, signal, showError }, path, lexicon) {
  const languages = [...new Set((lexicon.entries ?? []).map(({ language_code }) => language_code ?? ''))];
  /**
   * @param {string} label
   * @param {string} file
   * @param {import('./api.js').ApiRequest} request
   */
  const button = (label, file, request) => {
    const onclick = () => void api.save(file, path, { ...request, signal }).catch(showError);
    return element('button', { type: 'button', onclick }, label);
  };
  const headers = { Accept: 'application/pls+xml' };
  const documents = languages.map((code) =>
    button(`PLS${code && `, ${code}`}`, `${lexicon.name}${code && `-${code}`}.pls`, {
      headers,
      query: { language_code: code || undefined },
    }),
  );
  return element(
    'section',
    { class: 'card' },
    element('h2', {}, 'Export'),
    element('p', { class: 'hint' }, 'Download the stored lexicon. A PLS document has the entries of one language.'),
    element('div', { class: 'row' }, button('JSON', `${lexicon.name}.json`, {}), ...documents),
  );
}

/**
 * @param {PageContext} pageContext
 * @param {string} path
 * @param {Lexicon} lexicon
 */
function deleteCard({ api, signal, notify, showError }, path, lexicon) {
  const onclick = async () => {
    const text = 'Requests that name it will fail. Voices that use it will speak without it.';
    if (!(await isConfirmed({ title: `Delete ${lexicon.name}?`, text, yes: 'Delete' }))) return;
    try {
      await api.requestJson(path, { method: 'DELETE', signal });
      drafts.delete(lexicon.lexicon_id);
      location.hash = '#/voices/+lexicons';
      notify(`${lexicon.name} is deleted.`);
    } catch (error) {
      showError(error);
    }
  };
  return element('p', {}, element('button', { type: 'button', class: 'danger', onclick }, 'Delete the lexicon'));
}

/**
 * @param {PageContext} pageContext
 * @param {() => string} voiceId
 */
function createEntrySample({ api, signal, notify, showError }, voiceId) {
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

/**
 * @param {PageContext} pageContext
 * @param {Lexicon} lexicon
 * @param {readonly Voice[]} all
 */
function boundVoicesCard({ api, signal, hasScope, notify, showError }, lexicon, all) {
  const { lexicon_id: lexiconId } = lexicon;
  const voices = new Map(all.map((voice) => [voice.voice_id, voice]));
  const list = element('ul', { class: 'lexicon-voices' });
  const select = element('select', { 'aria-label': 'Voice' });
  const bind = element('button', { type: 'button' }, 'Use it for this voice');
  /**
   * @param {Voice} voice
   * @param {string[]} lexicon_ids
   * @param {string} message
   */
  const change = async (voice, lexicon_ids, message) => {
    try {
      const request = { method: 'PATCH', body: { lexicon_ids }, signal };
      voices.set(voice.voice_id, await api.requestJson(toVoicePath(voice.voice_id), request));
      show();
      notify(message);
    } catch (error) {
      showError(error);
    }
  };
  /** @param {Voice} voice */
  const toItem = (voice) => {
    const rest = voice.lexicon_ids.filter((each) => each !== lexiconId);
    const onclick = () => change(voice, rest, `${voice.name} speaks without ${lexicon.name}.`);
    const label = `Do not use it for ${voice.name}`;
    return element(
      'li',
      {},
      voice.name,
      ' ',
      mayWrite && element('button', { type: 'button', class: 'quiet', 'aria-label': label, onclick }, 'Remove'),
    );
  };
  const mayWrite = hasScope('voices:write');
  const show = () => {
    const bound = [...voices.values()].filter(({ lexicon_ids }) => lexicon_ids.includes(lexiconId));
    const free = [...voices.values()].filter((voice) => !bound.includes(voice));
    fill(list, bound.length > 0 ? bound.map(toItem) : element('li', { class: 'hint' }, 'None.'));
    fill(
      select,
      free.map(({ voice_id, name }) => element('option', { value: voice_id }, name)),
    );
  };
  bind.addEventListener('click', () => {
    const voice = voices.get(select.value);
    if (voice) void change(voice, [...voice.lexicon_ids, lexiconId], `${voice.name} speaks with ${lexicon.name}.`);
  });
  show();
  return element(
    'section',
    { class: 'card' },
    element('h2', {}, 'Voices that always use it'),
    list,
    mayWrite && element('div', { class: 'row' }, select, bind),
  );
}
