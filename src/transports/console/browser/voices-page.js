// The Voices page and its subpages: the list of voices (with a search at `#/voices/+search/<words>`), one voice at
// `#/voices/<id>`, the installable models, the lexicons, and the forms that create and clone voices.
/** @import { PageContext, Page } from './page.d.ts' */
import { showVoice } from './voice-details.js';
import { showVoiceForm } from './voice-form.js';
import { showVoiceList } from './voice-list.js';

/** Subpages. Voice ids cannot start with a plus sign. */
const subpages = /** @type {ReadonlyMap<string, (pageContext: PageContext) => Promise<void>>} */ (
  new Map([
    ['+clone', async (pageContext) => (await import('./clone-form.js')).showCloneForm(pageContext)],
    ['+models', async (pageContext) => (await import('./model-list.js')).showModelList(pageContext)],
    ['+lexicons', async (pageContext) => (await import('./lexicon-list.js')).showLexicons(pageContext)],
    ['+new', showVoiceForm],
    ['+search', showVoiceList],
  ])
);

/** @type {Page} */
export const voicesPage = {
  name: 'voices',
  title: 'Voices',
  scope: 'voices:read',
  show(pageContext) {
    const [name] = pageContext.pathSegments;
    if (name === undefined || name === '') return showVoiceList(pageContext);
    return (subpages.get(name) ?? showVoice)(pageContext);
  },
};
