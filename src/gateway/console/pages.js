// The pages, in the order in which they stand in the head.
/** @import { Page } from './page.d.ts' */
import { speakPage } from './speak-page.js';

/** @type {readonly Page[]} */
export const pages = [speakPage];
