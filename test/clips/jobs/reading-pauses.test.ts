// Tests the pauses between the paragraphs of a chapter, measured in the audio of jobs, and texts whose audio these
// pauses do not change.
import { expect, test } from 'vitest';
import { partCharsMax, readingPausesMs } from '../../../src/clips/jobs/job-limits.ts';
import { bytesOf } from '../../transports/http/open-gateway.ts';
import { type JobJson, openJobsGateway } from './open-jobs.ts';

const rateHz = 24_000;
const fields = { voice_id: 'tone-low', output_format: 'pcm', sample_rate: rateHz };
const { paragraph, heading, scene } = readingPausesMs;

/** Silences within the audio that are longer than the engine's own, in milliseconds. */
function longQuiets(bytes: Buffer): number[] {
  const samples = new Int16Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  const quiets: number[] = [];
  let last = samples.findIndex((sample) => Math.abs(sample) > 130);
  for (const [i, sample] of samples.entries()) {
    if (Math.abs(sample) <= 130 || i <= last) continue;
    if (i - last > rateHz / 2) quiets.push(((i - last) / rateHz) * 1000);
    last = i;
  }
  return quiets;
}

async function open() {
  const gateway = await openJobsGateway();
  const quietsOf = async (chapters: readonly object[], more: object = {}) => {
    const { id } = await gateway.create({ ...fields, chapters, ...more });
    const job = await gateway.untilEnded(id);
    expect(job.error).toBeNull();
    const ofChapter = async ({ audio_url }: JobJson) => longQuiets(await gateway.download(audio_url));
    return Promise.all((job.chapters as JobJson[]).map(ofChapter));
  };
  return { ...gateway, quietsOf };
}

const rounded = (all: readonly (readonly number[])[]) => all.map((each) => each.map((ms) => Math.round(ms / 50) * 50));
const expectQuiets = (found: readonly number[][], wanted: readonly number[][]) =>
  expect(rounded(found)).toEqual(rounded(wanted));

test('a chapter pauses longer at paragraphs, headings and scene breaks than between sentences', async () => {
  const { quietsOf } = await open();
  const title = 'II. The lamp';
  const marked = '# One\n\nIt rained.\n\n## Two\n\nIt snowed.\n\n- A list.\n- Of two.';
  const signs = ['* * *', '***', '---', '⁂', '#', '🌙 🌙'];
  const chapters = [
    { text: 'One sentence here. Another one. And one.' },
    { text: 'It was late.\n\nIt rained.\r\n\r\nNobody came.' },
    { title, text: 'II.\n\nThe lamp\n\nIt went out.\n\nII.' },
    { text: marked },
    ...signs.map((sign) => ({ text: `It was late.\n\n${sign}\n\nIt rained.` })),
  ];
  expectQuiets(await quietsOf(chapters), [
    [],
    [paragraph, paragraph],
    [heading, heading, paragraph],
    [heading, heading, heading, paragraph],
    ...signs.map(() => [scene]),
  ]);
  expectQuiets(await quietsOf([{ text: 'It was late.\n\nIt rained.' }], { speaking_rate: 0.5 }), [[2 * paragraph]]);
});

test('pauses of the markup stand, and documents have no others', async () => {
  const { quietsOf } = await open();
  const text = 'It was late.\n\n[pause:2s]\n\nIt rained.\n\nNobody came.';
  expectQuiets(await quietsOf([{ text }], { markup: 'pauses' }), [[2_000, paragraph]]);
  const ssml = '<speak><p>It was late.</p>\n\n<p>It rained.</p><break time="900ms"/>Nobody came.</speak>';
  expectQuiets(await quietsOf([{ ssml }]), [[900]]);
});

test('paragraphs that are parts of a long chapter pause too', async () => {
  const { quietsOf } = await open();
  // The length of a part is mostly white space, which is not spoken.
  const long = `So it goes.${' '.repeat(0.55 * partCharsMax)}So it goes.\n\n`;
  expectQuiets(await quietsOf([{ text: `${long}${long}* * *\n\n${long}` }]), [[paragraph, scene]]);
});

test('one paragraph is what the same request for speech is', async () => {
  const { create, untilEnded, download, send, jobsKey } = await open();
  const text = 'The train leaves at nine, they say. It is late today! Nobody waits for it.';
  const job = await untilEnded((await create({ ...fields, chapters: [{ text }] })).id);
  const headers = { 'X-API-Key': jobsKey };
  const speech = await send('/api/audio/speech', { headers, body: { ...fields, text, return_format: 'buffer' } });
  expect((await download(job.chapters[0].audio_url)).equals(await bytesOf(speech))).toBe(true);
});
