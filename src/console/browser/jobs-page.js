// The Jobs page: books and other long texts that are spoken in the background. Its modules are loaded when it is shown.
/** @import { Page } from './page.d.ts' */
import { element, fill } from './element.js';
import { loading } from './notices.js';

/** @type {Page} */
export const jobsPage = {
  name: 'jobs',
  title: 'Jobs',
  scope: 'jobs:read',
  async show(pageContext) {
    fill(pageContext.root, element('h1', {}, 'Jobs'), loading('Loading the jobs …'));
    const { showJobs } = await import('./job-list.js');
    await showJobs(pageContext);
  },
};
