// Console messages: a status message that disappears by itself, and an error notice that stays until the user
// closes it. Both are in live regions, so screen readers announce them.
import { ApiError } from './api.js';
import { element, fill } from './element.js';
import { icon } from './icon.js';

const statusMs = 5_000;

/** @typedef {ReturnType<typeof createNotices>} Notices */

/** @param {{ status: HTMLElement, errors: HTMLElement }} elements */
export function createNotices({ status, errors }) {
  /** @type {number | undefined} */
  let timer;
  return {
    /**
     * @param {string} text
     * @param {() => void} [undo]
     */
    notify(text, undo) {
      clearTimeout(timer);
      const onclick = () => {
        fill(status);
        undo?.();
      };
      fill(status, text, undo && element('button', { type: 'button', class: 'quiet', onclick }, 'Undo'));
      timer = setTimeout(() => fill(status), undo ? 4 * statusMs : statusMs);
    },
    /** @param {unknown} error */
    showError(error) {
      const close = element('button', { type: 'button', class: 'quiet', 'aria-label': 'Close' }, icon('close'));
      const notice = element(
        'div',
        { class: 'error-notice' },
        icon('warning'),
        element('div', {}, ...toErrorElements(error)),
        close,
      );
      close.addEventListener('click', () => notice.remove());
      fill(errors, notice);
    },
    clearErrors() {
      fill(errors);
    },
  };
}

/**
 * A placeholder while data loads. If loading fails, the shell replaces it with a button to try again.
 * @param {string} text
 */
export const loading = (text) => element('p', { class: 'hint loading', role: 'status' }, text);

/**
 * Renders an error: its message, then the reason, the time to wait and the request id.
 * @param {unknown} error
 */
export function toErrorElements(error) {
  const message = error instanceof Error ? error.message : String(error);
  const { reason, requestId, retryAfterSeconds } =
    error instanceof ApiError ? error : { reason: '', requestId: '', retryAfterSeconds: undefined };
  const wait = retryAfterSeconds && `retry after ${Math.ceil(retryAfterSeconds)} s`;
  const facts = [reason, wait, requestId].filter(Boolean);
  return [
    element('p', {}, message),
    facts.length > 0 && element('p', { class: 'facts' }, element('code', {}, facts.join(' · '))),
  ];
}
