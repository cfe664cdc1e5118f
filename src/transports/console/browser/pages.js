// The pages of the console, in the order of the navigation bar.
/** @import { Page } from './page.d.ts' */
import { keysPage } from './keys-page.js';
import { speakPage } from './speak-page.js';
import { talkPage } from './talk-page.js';
import { usagePage } from './usage-page.js';
import { voicesPage } from './voices-page.js';

/** @type {Page} */
const jobsPage = {
  name: 'jobs',
  title: 'Jobs',
  scope: 'jobs:read',
  show: async (pageContext) => (await import('./jobs-page.js')).showJobs(pageContext),
};

/** @type {readonly Page[]} */
export const pages = [speakPage, talkPage, voicesPage, jobsPage, keysPage, usagePage];
