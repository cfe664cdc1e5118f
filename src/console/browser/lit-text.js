// A field to write in, whose words light up as they are spoken: below the field lies the same text, unseen, and in it a
// mark that goes from word to word. The field grows with its text, up to a height that the style sets.
import { element } from './element.js';
/** @import { Word } from './speech-run.js' */

/** @typedef {ReturnType<typeof createLitText>} LitText */

/** @param {Record<string, string | number>} attributes Of the field. */
export function createLitText(attributes) {
  const field = element('textarea', { rows: 5, ...attributes });
  const letters = document.createTextNode('');
  const mark = element('span', { class: 'mark', hidden: true });
  const mirror = element('div', { class: 'mirror', 'aria-hidden': 'true' }, mark);
  mirror.append(letters);
  const root = element('div', { class: 'lit-text' }, mirror, field);
  const mirrorText = () => {
    // An empty last line has no height of its own.
    letters.data = `${field.value}\u200b`;
  };
  field.addEventListener('input', mirrorText);
  let lit = -1;

  const clear = () => {
    lit = -1;
    mark.hidden = true;
    delete root.dataset.word;
  };

  return {
    root,
    field,
    get text() {
      return field.value;
    },
    /** @param {string} text */
    set text(text) {
      field.value = text;
      mirrorText();
      clear();
    },
    clear,
    /**
     * Lights the word that is spoken at that time, of words in the order of their times.
     * @param {readonly Word[]} words
     * @param {number} seconds
     */
    light(words, seconds) {
      const index = findWord(words, seconds);
      const word = words[index];
      if (!word) return clear();
      if (index === lit) return;
      lit = index;
      root.dataset.word = String(index);
      const range = document.createRange();
      range.setStart(letters, Math.min(word.from, letters.length));
      range.setEnd(letters, Math.min(word.to, letters.length));
      const [place] = range.getClientRects();
      if (!place) return;
      const { left, top } = mirror.getBoundingClientRect();
      // To another line it does not glide.
      const line = String(Math.round(place.top - top));
      mark.classList.toggle('glides', !mark.hidden && mark.dataset.line === line);
      mark.dataset.line = line;
      mark.hidden = false;
      mark.style.width = `${place.width}px`;
      mark.style.height = `${place.height}px`;
      mark.style.transform = `translate(${place.left - left}px, ${place.top - top}px)`;
      follow(root, place);
    },
  };
}

/**
 * The last word that has begun.
 * @param {readonly Word[]} words
 * @param {number} seconds
 */
function findWord(words, seconds) {
  let [low, high] = [0, words.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((words[middle]?.start ?? 0) <= seconds) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/**
 * Keeps the place in sight, where the text is higher than its frame.
 * @param {HTMLElement} frame
 * @param {DOMRect} place
 */
function follow(frame, place) {
  const { top, bottom } = frame.getBoundingClientRect();
  if (place.bottom > bottom - 8) frame.scrollTop += place.bottom - top - frame.clientHeight / 3;
  else if (place.top < top) frame.scrollTop += place.top - top - frame.clientHeight / 3;
}
