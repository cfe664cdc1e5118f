// What the console has to say: a line that goes by itself, and what went wrong, which stays until it is closed. Both are
// read out where somebody listens.
import { Refusal } from './api.js';
import { element, fill } from './element.js';
import { icon } from './icon.js';

const saidMs = 5_000;

/** @typedef {ReturnType<typeof createNotices>} Notices */

/** @param {{ status: HTMLElement, trouble: HTMLElement }} places */
export function createNotices({ status, trouble }) {
  /** @type {number | undefined} */
  let timer;
  return {
    /** @param {string} text */
    say(text) {
      clearTimeout(timer);
      status.textContent = text;
      timer = setTimeout(() => fill(status), saidMs);
    },
    /** @param {unknown} error */
    complain(error) {
      const close = element('button', { type: 'button', class: 'quiet', 'aria-label': 'Close' }, icon('close'));
      const notice = element(
        'div',
        { class: 'trouble' },
        icon('warning'),
        element('div', {}, ...toWords(error)),
        close,
      );
      close.addEventListener('click', () => notice.remove());
      fill(trouble, notice);
    },
    forgive() {
      fill(trouble);
    },
  };
}

/**
 * What stands where something will be that is asked for. The shell puts another try in its place where that fails.
 * @param {string} text
 */
export const loading = (text) => element('p', { class: 'hint loading', role: 'status' }, text);

/**
 * What went wrong, as it is told to people: the sentence, and the id to ask the operator about it with.
 * @param {unknown} error
 */
export function toWords(error) {
  const message = error instanceof Error ? error.message : String(error);
  const { reason, requestId, retryAfterSeconds } =
    error instanceof Refusal ? error : { reason: '', requestId: '', retryAfterSeconds: undefined };
  const wait = retryAfterSeconds && `try again in ${retryAfterSeconds} s`;
  const facts = [reason, wait, requestId].filter(Boolean);
  return [
    element('p', {}, message),
    facts.length > 0 && element('p', { class: 'facts' }, element('code', {}, facts.join(' · '))),
  ];
}
