// Tests the console's jobs in Chromium: a book is dropped, its chapters are chosen, synthesized and watched, and the
// job is canceled, retried and deleted; suspect sentences are played, compared, spoken again and kept, and the receipt
// is saved. Checked with axe in light and dark themes, and for overflow on phones.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type JobsGateway, openJobsGateway } from '../../clips/jobs/open-jobs.ts';
import { createTestSigner } from '../../clips/provenance/signing.ts';
import { openTakes, speakGoodAndBad } from '../../engines/takes-engine.ts';
import { isInstalled } from '../../programs.ts';
import { sentences } from '../../sentences.ts';
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
    const signing = { openSigner: createTestSigner(), marking: { software: 'Sonant 1.2.3', operator: '' } };
    gateway = await openJobsGateway(signing, (close) => closes.push(close));
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

  test('suspect sentences are listed, played where they are, and compared with what was heard', async () => {
    const { page, click, find, go, inspect, textOf, untilText } = consolePage;
    await go('#/voices', 'Voices');
    const chapters = [
      { title: 'One', text: 'One sentence. And another one.' },
      { title: 'Two', text: 'The lamp went out at nine.' },
    ];
    const { id } = await gateway.create({ chapters, metadata: { title: 'To be checked' } });
    await gateway.untilEnded(id);
    const suspect = (chapter: number, fields: object) =>
      gateway.store.query(
        `update job_chapters set suspects = $2 where chapter = $3 and job_key in (select job_key from jobs where job_id = $1)`,
        ...[id, JSON.stringify([fields]), chapter],
      );
    await suspect(0, { offset: 14, text: 'And another one', faults: ['held_sound', 'silence'], start: 1.25 });
    const heard = 'The lamp went off at nine nine';
    await suspect(1, { offset: 0, text: 'The lamp went out at nine', faults: ['words_differ'], heard, start: 0 });
    await go('#/jobs', 'Jobs');
    const first = '.job:first-child';
    await untilText(`${first} h3`, 'To be checked');
    await untilText(first, '2 sentences to check');
    await page.run(`document.querySelectorAll('${first} summary')[0].click()`);
    const items = `[...document.querySelectorAll('${first} .job-suspects li')].map((each) => each.innerText)`;
    const [one, two] = await page.run<[string, string]>(items);
    expect(one).toMatch(/And another one[\s\S]*One · 1 s · held sound · silence/);
    expect(two).toMatch(/Two · \d+ s · words differ/);
    const words = (name: string) =>
      page.run<string[]>(`[...document.querySelectorAll('${first} ${name}')].map((each) => each.innerText)`);
    expect([await words('del'), await words('ins')]).toEqual([['out'], ['off', 'nine']]);
    await inspect('job-suspects');
    // The buttons are not replaced when a chapter without suspects ends.
    const job = await gateway.get(id);
    const isKept = `(async () => {
      const { createSuspects } = await import(new URL('job-suspects.js', document.querySelector('script[src]').src));
      const { root, show } = createSuspects({ toOwnAddress: String, settle: false });
      const [first, second] = ${JSON.stringify(job.chapters)};
      const shown = [null, second.audio_url].map((audio_url) => {
        show({ status: 'running', chapters: [first, { ...second, audio_url, suspects: [], suspect_count: 0 }] });
        return root.querySelector('li');
      });
      return shown[0] !== null && shown[0] === shown[1];
    })()`;
    expect(await page.run(isKept)).toBe(true);
    const audio = find(`${first} details audio`);
    const expression = `${find(`${first} .job-suspects li:first-child button`)}.click()`;
    await page.send('Runtime.evaluate', { expression, userGesture: true });
    await page.until(`${audio}.currentTime > 1.25`);
    expect(await page.run(`${audio}.currentTime < 10 && /\\/audio\\/aud_/.test(${audio}.src)`)).toBe(true);
    await page.run(`${audio}.pause()`);
    // The file is saved by a link that is never in the page.
    await page.run(`{
      const { createObjectURL } = URL;
      URL.createObjectURL = (blob) => {
        blob.text().then((text) => { window.savedText = text; });
        return createObjectURL.call(URL, blob);
      };
      HTMLAnchorElement.prototype.click = function () { window.saved = this.download; };
    }`);
    await click(`${first} button[aria-label^="Receipt"]`);
    await page.until('window.savedText !== undefined && window.saved !== undefined');
    expect(await page.run('window.saved')).toMatch(/^To be checked receipt \(tone-low, .*\)\.json$/);
    const { receipt } = JSON.parse(await page.run<string>('window.savedText'));
    expect(JSON.parse(receipt).chapters).toHaveLength(2);
    expect(await textOf('#errors')).toBe('');
    expect(await page.run(`sessionStorage.getItem('violations')`)).toBe(null);
  });

  test('a suspect sentence is spoken again, and another one is kept', async () => {
    const { good, bad } = await speakGoodAndBad(sentences[0]!);
    const engines = [openTakes([bad, bad, bad, bad, bad, bad, good])];
    const own = await openJobsGateway({ engines }, (close) => closes.push(close));
    const { id } = await own.create({ chapters: undefined, text: 'It went out at nine.\n\nNobody saw it.' });
    await own.untilEnded(id);
    const at = await openConsole({ url: own.url, microphone: silence }, (close) => closes.push(close));
    await at.useKey(own.jobsKey);
    await at.go('#/jobs', 'Jobs');
    await at.untilText('.job', '2 sentences to check');
    await at.click('.job summary');
    await at.inspect('settled-suspects');
    await at.click('.job-suspects button[aria-label^="Speak again “It"]');
    await at.untilText('.job', '1 sentence to check');
    await at.untilText('.job .chip', 'succeeded');
    await at.click('.job-suspects button[aria-label^="Keep “Nobody"]');
    await at.untilText('#status', 'The sentence is kept.');
    await at.page.until(`${at.find('.job details')}.hidden`);
    const { chapters, audio_url } = await own.get(id);
    expect(chapters[0].suspects).toEqual([]);
    const src = await at.page.run<string>(`${at.find('.job audio')}.src`);
    expect(src.split('/').pop()).toBe(audio_url.split('/').pop());
    expect(await at.textOf('#errors')).toBe('');
    expect(await at.page.run(`sessionStorage.getItem('violations')`)).toBe(null);
  });
});
