// Jobs over HTTP: spoken in the background into one file and a file a chapter, whole or not at all.
import { describe, expect, test } from 'vitest';
import { createClipMemory } from '../../src/delivery/clip-memory.ts';
import { parseJobRequest, toPartRequest } from '../../src/jobs/job-request.ts';
import { chapters, openJobsGateway } from './open-jobs.ts';

describe('a job', () => {
  test('becomes one file, and a file for each chapter', async () => {
    const { create, untilEnded, download, faults } = await openJobsGateway();
    const made = await create({ output_format: 'wav', chapter_gap_seconds: 1.5, captions: ['vtt'] });
    expect(made).toMatchObject({ status: 'queued', audio_url: null, error: null });
    const job = await untilEnded(made.id);
    expect(faults).toEqual([]);
    expect(job).toMatchObject({ status: 'succeeded', error: null });
    const chars = chapters.reduce((sum, { text }) => sum + text.length, 0);
    expect(job.progress).toMatchObject({ chars, chars_done: chars, chapters_done: 3 });
    expect(job.usage.characters).toBe(chars);
    expect(job.chapters.map(({ title }: { title: string }) => title)).toEqual(['One', 'Two', 'Three']);
    const whole = await download(job.audio_url);
    expect(whole.subarray(0, 4).toString()).toBe('RIFF');
    for (const { audio_url, start, end } of job.chapters) {
      const own = await download(audio_url);
      const sound = own.subarray(44);
      // Times are told to the millisecond.
      const [earliest, latest] = [start - 0.0006, start + 0.0006].map((at) => 44 + Math.floor(at * 44_100) * 2);
      const at = whole.indexOf(sound, Math.max(44, earliest!));
      expect(own.length - 44).toBeCloseTo((end - start) * 88_200, -3);
      expect(at).toBeGreaterThanOrEqual(44);
      expect(at).toBeLessThanOrEqual(latest! + 2);
    }
    const vtt = (await download(job.captions.vtt)).toString();
    expect(vtt).toContain('The train leaves at nine.');
    expect(vtt).toContain('The end.');
  });

  test('whose languages are found has captions, and no language in its file', async () => {
    const { create, untilEnded, download } = await openJobsGateway();
    const text = 'Der Zug fährt heute leider nicht. The next one leaves from platform four.';
    const made = await create({ language_code: 'auto', output_format: 'wav', captions: ['srt'], chapters: [{ text }] });
    const job = await untilEnded(made.id);
    expect(job).toMatchObject({ status: 'succeeded', error: null });
    expect((await download(job.captions.srt)).toString()).toContain('Der Zug fährt heute leider nicht.');
    expect((await download(job.audio_url)).includes('auto')).toBe(false);
  });

  test('whose voice ends while its chapters are joined leaves no file of the whole', async () => {
    const { create, untilEnded, openOwnJobs, rows, clips } = await openJobsGateway({ jobChaptersMax: 0 });
    const books: string[] = [];
    const chars = chapters.reduce((sum, { text }) => sum + text.length, 0);
    const add: typeof rows.add = async (clip) => {
      if (clip.chars === chars && books.push(clip.clipId) === 1)
        await rows.expireOfVoice('tone-low', Number.MAX_SAFE_INTEGER, 10);
      await rows.add(clip);
    };
    const jobs = openOwnJobs({ clips: { index: { ...rows, add }, memory: createClipMemory(clips) } });
    // Its chapters are spoken again, for the voice is only said to have ended.
    const job = await untilEnded((await create()).id);
    await jobs.close();
    expect(job.audio_url).toContain(books[1]);
    expect(await rows.isAlive(books[0]!)).toBe(false);
  });

  test('takes a chapter for SSML as a whole or not at all', () => {
    const long = `${'So it goes. '.repeat(1_000)}\n\n`;
    const document = `<?xml version="1.0"?>\n<speak>${long}</speak>`;
    const texts = [document, `${long.slice(-9_000)}<speak>Stop.</speak>`];
    const request = parseJobRequest({
      voice_id: 'tone-low',
      markup: 'ssml',
      chapters: texts.map((text) => ({ text })),
    });
    const [whole, plain] = request.chapters;
    expect(whole!.parts.map(({ text }) => text)).toEqual([document]);
    expect(plain!.chars).toBe(texts[1]!.length);
    const { markup } = toPartRequest(request.settings.speech, plain!.speech, '<speak>Stop.</speak>');
    expect(markup).toBeUndefined();
  });

  test('knows the voice of each chapter, also where the parts of one are alike', async () => {
    const { create, readJobs } = await openJobsGateway();
    const paragraph = `${'So it goes. '.repeat(208)}\n\n`;
    const alike = { title: 'Alike', text: paragraph.repeat(8), voice_id: 'tone-low' };
    const { id, chapters: made } = await create({
      chapters: [alike, { title: 'Other', text: 'The end.', voice_id: 'tone-high' }],
    });
    expect(made.map(({ voice_id }: { voice_id: string }) => voice_id)).toEqual(['tone-low', 'tone-high']);
    await readJobs(`/${id}/cancel`, { method: 'POST' });
  });
});
