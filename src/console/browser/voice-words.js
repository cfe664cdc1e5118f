// What is said of a voice in several places.
/** @import { Preview } from './voice-picker.js' */
/** @import { Voice } from './wire.d.ts' */
import { element } from './element.js';

const statusWords = /** @type {const} */ ({
  pending: 'being made',
  failed: 'failed',
  disabled: 'switched off',
  consent_revoked: 'consent withdrawn',
});

/**
 * Only where it cannot speak.
 * @param {Voice} voice
 */
export const statusChip = ({ status }) =>
  status !== 'ready' && element('span', { class: `chip ${status}` }, statusWords[status]);

/**
 * @param {Preview} preview
 * @param {Voice} voice
 */
export function previewButton(preview, voice) {
  const button = preview.button(voice);
  button.disabled = voice.status !== 'ready';
  return button;
}

/** @param {string} voiceId */
export const toVoicePath = (voiceId) => `/api/voices/${encodeURIComponent(voiceId)}`;

/** @param {string} voiceId */
export const toVoiceAddress = (voiceId) => `#/voices/${encodeURIComponent(voiceId)}`;

/** In place of what makes voices. */
export const notWithThisKey = () =>
  element(
    'section',
    { class: 'card narrow' },
    element('h2', {}, 'Not with this key'),
    element(
      'p',
      {},
      'It lacks ',
      element('code', {}, 'voices:write'),
      '. Use a key that has it; ',
      element('a', { href: '#/keys' }, 'Keys'),
      ' tells what this one has.',
    ),
  );
