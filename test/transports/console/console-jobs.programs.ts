// Tests the console's jobs in Chromium: a book is dropped, its chapters are chosen, synthesized and watched, and the
// job is canceled, retried and deleted. Checked with axe in light and dark themes, and for overflow on phones.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type JobsGateway, openJobsGateway } from '../../clips/jobs/open-jobs.ts';
import { isInstalled } from '../../programs.ts';
import { openConsole } from './open-console.ts';

const silence = Buffer.alloc(44 + 48_000);
silence.write(
  'RIFF\x24\xbb\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x80\xbb\x00\x00\x00\x77\x01\x00\x02\x00\x10\x00data\x00\xbb\x00\x00',
  'latin1',
);
const book = `---
title: The Lighthouse Ledger
author: Mara Quill
---
# Contents

A list.

# Chapter 1

The lamp went out at nine.

# Chapter 2

Nobody saw it. The keeper slept.
`;

describe.skipIf(!isInstalled('chromium'))('jobs in the console', { timeout: 120_000 }, () => {
  let gateway: JobsGateway;
  let consolePage: Awaited<ReturnType<typeof openConsole>>;
  const closes: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    gateway = await openJobsGateway({}, (close) => closes.push(close));
    consolePage = await openConsole({ url: gateway.url, microphone: silence }, (close) => closes.push(close));
    await consolePage.useKey(gateway.jobsKey);
  });
  afterAll(async () => {
    for (const close of closes.reverse()) await close();
  });

  const drop = (text: string, name: string) =>
    consolePage.page.run(`{
      const carried = new DataTransfer();
      carried.items.add(new File([${JSON.stringify(text)}], ${JSON.stringify(name)}));
      document.querySelector('.book-drop').dispatchEvent(new DragEvent('drop', { dataTransfer: carried, bubbles: true, cancelable: true }));
    }`);
  const button = (label: string) => `.job:first-child button[aria-label^="${label}"]:not([hidden])`;

  test('a book is dropped, its chapters are chosen and spoken, and its sound is there', async () => {
    const { page, click, find, findings, go, inspect, textOf, untilText } = consolePage;
    await go('#/jobs', 'Jobs');
    expect(await textOf('.jobs')).toContain('There are no jobs');
    await drop('%PDF-1.7', 'ledger.pdf');
    await untilText('#errors', 'is a PDF, which is not supported');
    await click('.error-notice button');
    await drop(book, 'ledger.md');
    await untilText('.book-form', 'The Lighthouse Ledger: 3 chapters');
    expect(
      await page.run(`[...document.querySelectorAll('.book-chapters input')].map(({ checked }) => checked)`),
    ).toEqual([false, true, true]);
    await untilText('.job-choices', '2 chapters,');
    await inspect('new-job');
    // Voices are grouped by language, and the search leaves only those that it finds.
    const offered = `[...document.querySelectorAll('#book-voice option')].map(({ value }) => value)`;
    const all = await page.run<string[]>(offered);
    expect(await page.run(`document.querySelectorAll('#book-voice optgroup').length`)).toBeGreaterThan(0);
    const searchFor = (text: string) =>
      page.run(`(() => { const query = ${find('.job-choices [type=search]')}; query.value = '${text}';
        query.dispatchEvent(new Event('input')); })()`);
    await searchFor('tone-low');
    expect(await page.run(offered)).toEqual(['tone-low']);
    await searchFor('');
    expect(await page.run(offered)).toEqual(all);
    await page.run(`${find('#book-voice')}.value = 'tone-low'; ${find('.job-choices .row [type=checkbox]')}.click()`);
    await click('.job-choices button.main');
    await untilText('.job', 'The Lighthouse Ledger');
    await untilText('.job .chip', 'succeeded');
    expect(await textOf('.job')).toMatch(/Mara Quill[\s\S]*2 of 2 chapters/);
    await page.until(find('.job audio'));
    const links = await page.run<string[]>(`[...document.querySelectorAll('.job a')].map(({ href }) => href)`);
    expect(links.map((href) => href.replace(/^.*\./, ''))).toEqual(['mp3', 'srt', 'vtt', 'mp3', 'mp3']);
    for (const href of links) expect((await fetch(href)).status).toBe(200);
    // Names differ between files, and between jobs for the same book.
    const names = await page.run<string[]>(`[...document.querySelectorAll('.job a')].map((each) => each.download)`);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^The Lighthouse Ledger .*\(tone-low, 20[\d-]+T[\d:]+\)\.\w+$/);
    await click('.job summary');
    expect(await findings()).toEqual([]);
    await inspect('jobs');
    expect(await page.run(`sessionStorage.getItem('violations')`)).toBe(null);
  });

  test('a job is watched as it goes on, canceled, retried and deleted', async () => {
    const { page, click, find, go, untilText, textOf } = consolePage;
    await go('#/voices', 'Voices');
    gateway.tone.trouble = { pieceDelayMs: 100 };
    const chapters = Array.from({ length: 8 }, (_, n) => ({ title: `No. ${n}`, text: 'One sentence. And another.' }));
    const job = await gateway.create({ chapters, metadata: { title: 'A long one' } });
    await go('#/jobs', 'Jobs');
    await untilText('.job:first-child h3', 'A long one');
    await page.until(`${find('.job:first-child progress')}.value > 0`);
    await click(button('Cancel'));
    await untilText('#status', 'A long one is canceled.');
    expect((await gateway.get(job.id)).status).toBe('canceled');
    gateway.tone.trouble = {};
    await click(button('Retry'));
    await untilText('.job:first-child .chip', 'succeeded');
    expect(await textOf('.job:first-child')).toContain('8 of 8 chapters');
    await click(button('Delete'));
    await page.until(find('dialog[open]'));
    await click('dialog [value=yes]');
    await untilText('#status', 'A long one is deleted.');
    expect((await gateway.sendJobs(`/${job.id}`)).status).toBe(404);
  });
});
