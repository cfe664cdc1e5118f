// The page of one voice: its properties, the consent of the speaker for a cloned voice, and the actions on it.
/** @import { Child } from './element.js' */
/** @import { PageContext } from './page.d.ts' */
/** @import { Voice } from '../../../gen/openapi.ts' */
import { element, fill } from './element.js';
import { toDate } from './formatting.js';
import { loading } from './notices.js';
import { missingScope, pageHead } from './page-head.js';
import { actionsCard } from './voice-actions.js';
import { accessChip, accessLabels, previewButton, statusChip, toVoicePath } from './voice-elements.js';
import { createPreview } from './voice-preview.js';
import { toLanguageName } from './voice-search.js';

/** The interval at which a pending voice is polled. */
const pollMs = 2_000;

/** @param {PageContext} pageContext */
export async function showVoice(pageContext) {
  const { root, api, pathSegments, signal, notify, hasScope } = pageContext;
  const path = toVoicePath(pathSegments[0] ?? '');
  const preview = createPreview(pageContext);
  /** @param {Voice} voice */
  const show = (voice) => {
    preview.stop();
    const { name, description, voice_id, status, kind } = voice;
    fill(
      root,
      pageHead({
        back: ['#/voices', 'Voices'],
        title: [
          `${name} `,
          kind === 'cloned' && element('span', { class: 'chip' }, 'cloned'),
          ' ',
          accessChip(voice),
          ' ',
          statusChip(voice),
        ],
        lead: description,
        actions: [
          previewButton(preview, voice),
          status === 'ready' &&
            hasScope('speech:stream') &&
            element('a', { class: 'button main', href: `#/speak/${encodeURIComponent(voice_id)}` }, 'Use this voice'),
        ],
      }),
      element(
        'div',
        { class: 'columns' },
        aboutCard(voice),
        element(
          'div',
          {},
          consentCard(voice),
          !hasScope('voices:write')
            ? missingScope('change voices', 'voices:write')
            : voice.owner === 'self' || hasScope('admin')
              ? actionsCard({ voice, pageContext, onChange: show })
              : notOwnerHint(),
        ),
      ),
    );
  };

  fill(root, loading('Loading the voice …'));
  let voice = await api.requestJson(path, { signal });
  show(voice);
  while (voice.status === 'pending' && !signal.aborted) {
    await new Promise((resolve) => setTimeout(resolve, pollMs));
    voice = await api.requestJson(path, { signal });
    if (voice.status === 'pending') continue;
    show(voice);
    notify(voice.status === 'ready' ? `${voice.name} can speak.` : `${voice.name} could not be created.`);
  }
}

/** @param {(readonly [string, Child | Child[]])[]} facts */
const factList = (facts) =>
  element(
    'dl',
    {},
    ...facts.flatMap(([term, value]) =>
      value === undefined || value === '' ? [] : [element('dt', {}, term), element('dd', {}, value)],
    ),
  );

/** @param {readonly string[]} texts */
const chips = (texts) =>
  element('span', { class: 'chips' }, ...texts.map((text) => element('span', { class: 'chip' }, text)));

const ownerLabels = /** @type {const} */ ({
  self: 'The account of this key',
  operator: 'The operator of this service',
  other: 'Another account',
});

/** @param {Voice} voice */
function aboutCard(voice) {
  const { voice_id, engine, bindings, language_codes, labels, capabilities, created_at, updated_at } = voice;
  const { output_formats, sample_rates, speaking_rate } = capabilities;
  const labelTexts = Object.entries(labels).map(([name, label]) => `${name}: ${label}`);
  const spokenBy = bindings.map((bound) =>
    bound.voice_id ? `${bound.engine}: ${bound.voice_id}` : `${bound.engine}: a clone`,
  );
  return element(
    'section',
    { class: 'card' },
    element('h2', {}, 'About'),
    factList([
      ['Voice id', element('code', {}, voice_id)],
      ['Languages', chips(language_codes.map((code) => `${toLanguageName(code)} (${code})`))],
      ['Spoken by', bindings.length > 0 ? chips(spokenBy) : engine],
      ['Labels', labelTexts.length > 0 ? chips(labelTexts) : undefined],
      ['Formats', output_formats.join(', ')],
      ['Sample rates (Hz)', sample_rates.map((rate) => rate.toLocaleString()).join(', ')],
      ['Speed', `${speaking_rate.min} to ${speaking_rate.max}`],
      ['Owner', ownerLabels[voice.owner]],
      ['Who may use it', accessLabels[voice.access]],
      ['Created', created_at ? toDate(created_at) : 'Comes with its engine'],
      ['Changed', updated_at && updated_at !== created_at ? toDate(updated_at) : undefined],
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
      ['Given on', given_at ? toDate(given_at) : undefined],
      ['Recorded by', element('code', {}, confirmed_by)],
      ['Withdrawn on', revoked_at ? toDate(revoked_at) : undefined],
    ]),
  );
}

const notOwnerHint = () =>
  element(
    'p',
    { class: 'hint' },
    'This voice belongs to another account. Only its owner, and keys with the scope ',
    element('code', {}, 'admin'),
    ', can change it.',
  );
