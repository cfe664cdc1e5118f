// Tests that a file of a job that cannot be stored leaves no file, no captions, no reserved room and no slot behind, and
// is then made again.
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { captionsKeyOf } from '../../../src/clips/beside-audio.ts';
import { Failure } from '../../../src/platform/errors.ts';
import { openTone } from '../../engines/tone-engine.ts';
import { openJobsGateway } from './open-jobs.ts';

const bytesMax = 100_000_000;
const fail = () => Promise.reject(new Failure('storage_unavailable', {}));

const [chapter, whole] = [1, 2];

test.each([
  ['the whole that is not created', whole, 'succeeded'],
  ['the whole that is not written', whole, 'succeeded'],
  ['the whole that is not committed', whole, 'succeeded'],
  ['a chapter that is not committed', chapter, 'succeeded'],
  ['the whole that is not indexed', whole, 'succeeded'],
  ['the whole whose chapter ends too early', whole, 'failed'],
])('the file of %s is removed with its captions, and its room is free again', async (fault, number, status) => {
  const gateway = await openJobsGateway({ jobChaptersMax: 0, room: { bytesMax } });
  const { clips, create, untilEnded, openOwnJobs, storedClips, isStored, room, rows, schedule } = gateway;
  const { index, memory } = storedClips;
  const begun: string[] = [];
  const isNow = (fails: RegExp) => fails.test(fault) && begun.length === number;
  const { create: begin, open } = clips;
  clips.create = async (key, contentType) => {
    if (!key.startsWith('aud_')) return begin.call(clips, key, contentType);
    begun.push(key);
    if (isNow(/created/)) return fail();
    const draft = await begin.call(clips, key, contentType);
    return Object.assign(draft, isNow(/written/) && { write: fail }, isNow(/committed/) && { commit: fail });
  };
  clips.open = async (key, range) => {
    const stored = await open.call(clips, key, range);
    if (!stored || range || !isNow(/early/)) return stored;
    stored.body.destroy();
    return { ...stored, body: Readable.from([Buffer.alloc(100)]) };
  };
  const failing: typeof index = {
    ...index,
    add: (clip) => (isNow(/indexed/) ? fail() : index.add(clip)),
  };
  const worker = openOwnJobs({ clips: { index: failing, memory } });
  const { id } = await create({ chapters: undefined, text: 'One text.', captions: ['srt'] });
  const job = await untilEnded(id);
  await worker.close();
  Object.assign(clips, { create: begin, open });
  expect(job.status).toBe(status);

  const kept = await rows.sumStored();
  const { storedBytes, freeBytes } = room.state();
  const bytesPerClip = 4096;
  expect(storedBytes).toBe(kept.reduce((sum, { bytes, clips: count }) => sum + bytes + count * bytesPerClip, 0));
  expect([bytesMax - storedBytes - freeBytes!, schedule.state.speaking]).toEqual([0, 0]);
  const stays = (audioId: string) => Promise.all([audioId, captionsKeyOf(audioId)].map(isStored));
  expect(begun).toHaveLength(status === 'failed' ? 2 : 3);
  const expected = begun.map((_, i) => (i + 1 === number ? [false, false] : [true, true]));
  expect(await Promise.all(begun.map(stays))).toEqual(expected);
});

test('a chapter whose file is gone when the book is joined is made again', async () => {
  const { clips, create, untilEnded, openOwnJobs } = await openJobsGateway({ jobChaptersMax: 0 });
  const { open } = clips;
  let gone: string | undefined;
  clips.open = async (key, range) => {
    if (range?.last === 0) gone ??= key;
    return key === gone ? undefined : open.call(clips, key, range);
  };
  const worker = openOwnJobs();
  const { id } = await create({ chapters: undefined, text: 'One text.' });
  expect(await untilEnded(id)).toMatchObject({ status: 'succeeded' });
  await worker.close();
  expect(gone).toMatch(/^aud_/);
});

test('until a job has ended, its chapters are not removed to free storage', async () => {
  const tone = openTone();
  const { create, openOwnJobs, rows, store, untilEnded } = await openJobsGateway({
    engines: [tone],
    jobChaptersMax: 0,
  });
  const countRemovable = async () => {
    const [job] = await store.query<{ accountId: string }>('select account_id as "accountId" from jobs');
    const lists = [rows.listUnlinked(job!.accountId, 9), rows.listUnused(job!.accountId, Date.now() + 60_000, 9)];
    return (await Promise.all(lists)).flat().length;
  };
  const counted: [stored: number, removable: number][] = [];
  const { speak } = tone;
  tone.speak = async function* (...asked) {
    counted.push([(await store.query('select 1 from clips')).length, await countRemovable()]);
    yield* speak(...asked);
  };
  const { id } = await create();
  const worker = openOwnJobs({ chaptersMax: 1 });
  await untilEnded(id);
  await worker.close();
  expect(counted.at(-1)).toEqual([2, 0]);
  expect(await countRemovable()).toBe(4);
});
