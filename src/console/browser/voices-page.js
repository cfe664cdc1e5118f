// The page of the voices: all of them; one of them, at #/voices/its-id; and where voices are made and people are cloned.
/** @import { Desk, Page } from './page.d.ts' */
import { showCloneForm } from './clone-form.js';
import { showVoice } from './voice-details.js';
import { showVoiceForm } from './voice-form.js';
import { showVoiceList } from './voice-list.js';

/** Ids of voices cannot begin with it. */
const places = /** @type {ReadonlyMap<string, (desk: Desk) => Promise<void>>} */ (
  new Map([
    ['+clone', showCloneForm],
    ['+new', showVoiceForm],
  ])
);

/** @type {Page} */
export const voicesPage = {
  name: 'voices',
  title: 'Voices',
  scope: 'voices:read',
  show(desk) {
    const [place] = desk.rest;
    if (place === undefined || place === '') return showVoiceList(desk);
    return (places.get(place) ?? showVoice)(desk);
  },
};
