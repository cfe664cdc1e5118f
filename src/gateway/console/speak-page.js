// The page where a text is written, spoken and heard while it is being spoken.
/** @import { Page } from './page.d.ts' */
import { element, fill } from './element.js';

/** @type {Page} */
export const speakPage = {
  name: 'speak',
  title: 'Speak',
  scope: 'speech:stream',
  show({ room }) {
    fill(room, element('h1', {}, 'Speak'));
  },
};
