// Tests SSML as the text of a job and of a chapter, over REST and gRPC: audio and failures equal those of a speech
// request with the same document.
import { expect, test } from 'vitest';
import { JobService, JobStatus, type WatchJobResponse } from '../../../gen/sonant/v1/job_service_pb.ts';
import { bytesOf } from '../../transports/http/open-gateway.ts';
import { explain, failureOf } from '../../transports/rpc/grpc-client.ts';
import { openCore } from '../../transports/rpc/open-core.ts';
import { openJobsGateway } from './open-jobs.ts';

const document =
  '<?xml version="1.0"?><speak><p>The code is <say-as interpret-as="characters">K7B</say-as>.</p><break time="700ms"/>' +
  '<voice name="tone-high">Write it <prosody rate="slow">down</prosody>.</voice> &amp; thanks.</speak>';
const voice = { voice_id: 'tone-low' };

test('a job with ssml sounds as speech with the same document does', async () => {
  const { create, untilEnded, download, send, jobsKey, rows } = await openJobsGateway();
  const fields = { ...voice, ssml: document, output_format: 'pcm' };
  const headers = { 'X-API-Key': jobsKey };
  const speech = await send('/api/audio/speech', { headers, body: { ...fields, return_format: 'buffer' } });
  expect(speech.status).toBe(200);
  const chars = Number(speech.headers.get('x-chars'));
  const sound = await bytesOf(speech);
  const one = await untilEnded((await create({ ...fields, chapters: undefined })).id);
  expect(one).toMatchObject({ status: 'succeeded', usage: { characters: chars } });
  expect((await download(one.chapters[0].audio_url)).equals(sound)).toBe(true);
  expect((await download(one.audio_url)).equals(sound)).toBe(true);
  // If the other voice is deleted, its audio must be found.
  for (const url of [one.audio_url, one.chapters[0].audio_url])
    expect(await rows.find(/aud_\w+/.exec(url)![0])).toMatchObject({
      otherVoiceIds: expect.stringContaining('tone-high'),
    });
  const chapters = [
    { title: 'Marked', ssml: document },
    { title: 'Plain', text: 'It ends [pause:1s] here.' },
    { ssml: '<speak>Bye.</speak>', voice_id: 'tone-high' },
  ];
  const made = await create({ ...voice, markup: 'pauses', output_format: 'pcm', captions: ['srt'], chapters });
  const several = await untilEnded(made.id);
  expect(several).toMatchObject({
    status: 'succeeded',
    chapters: [{ chars }, { chars: 14 }, { voice_id: 'tone-high' }],
  });
  expect((await download(several.chapters[0].audio_url)).equals(sound)).toBe(true);
  const captions = (await download(several.captions.srt)).toString();
  expect(captions).toContain('The code is K7B.');
  expect(captions).not.toContain('<');
});

test('ssml of a job is read when the job is made, and refused as that of speech', async () => {
  const { readJobs, readJson, jobsKey, tone } = await openJobsGateway();
  const headers = { 'X-API-Key': jobsKey };
  const speechReply = (fields: object) => readJson('/api/audio/speech', { headers, body: { ...voice, ...fields } });
  const jobReply = (fields: object) => readJobs('', { body: { ...voice, ...fields } });
  for (const fields of [
    { ssml: '<speak>A. <b></speak>' },
    { ssml: '<speak>A &nbsp; B.</speak>' },
    { ssml: 'No document.' },
    { ssml: '<speak>A.</speak>', text: 'A.' },
    { ssml: '<speak>Привет.</speak>' },
    { ssml: `<speak>${'<p>'.repeat(40)}A.${'</p>'.repeat(40)}</speak>` },
    { ssml: '<speak></speak>' },
  ]) {
    const speech = await speechReply(fields);
    expect(speech.error).toBe('invalid_request');
    expect(await jobReply(fields)).toMatchObject({ error: speech.error, details: speech.details });
    const named = speech.details.map((each: { field: string }) => ({ ...each, field: `chapters[1].${each.field}` }));
    expect(await jobReply({ chapters: [{ text: 'A.' }, fields] })).toMatchObject({
      error: speech.error,
      details: named,
    });
  }
  const ofReason = ({ details }: { details: { field: string; reason: string }[] }) =>
    details.map(({ field, reason }) => [field, reason]);
  expect(ofReason(await jobReply({ ssml: 7 }))).toEqual(ofReason(await speechReply({ ssml: 7 })));
  const second = await jobReply({ chapters: [{ text: 'A.' }, { ssml: 7 }] });
  expect(ofReason(second)).toEqual([['chapters[1].ssml', 'type']]);
  const marked = { ssml: '<speak>A.</speak>', markup: 'pauses' };
  expect((await jobReply(marked)).details).toEqual((await speechReply(marked)).details);
  const of = async (fields: object) => {
    const { error, details } = await jobReply(fields);
    return [error, ...details.map(({ field, reason }: { field: string; reason: string }) => `${field} ${reason}`)];
  };
  expect(await of({ ssml: '' })).toEqual(['invalid_request', 'chapters required']);
  expect(await of({ chapters: [{ ssml: '' }] })).toEqual(['invalid_request', 'chapters[0].text required']);
  const chapters = [{ ssml: '<speak>A.</speak>' }];
  expect(await of({ ssml: '<speak>A.</speak>', chapters })).toEqual(['invalid_request', 'chapters conflict']);
  expect(await of({ markup: 'pauses', chapters })).toEqual(['invalid_request', 'markup conflict']);
  const ssml = `<speak>${'So. '.repeat(12_501)}</speak>`;
  expect(await jobReply({ chapters: [{ text: 'A.' }, { ssml }] })).toMatchObject({
    ...{ error: 'text_too_long', limit: 50_000 },
    details: [{ field: 'chapters[1].ssml', reason: 'too_long' }],
  });
  const text = `${'So it goes on and on.\n'.repeat(600)}Here: [pause:99s]`;
  expect(await jobReply({ markup: 'pauses', text })).toMatchObject({
    details: [{ field: 'text', message: 'line 601, column 7: a pause can last at most 20 s' }],
  });
  expect(tone.segments).toEqual([]);
});

test('JobService takes ssml too', async () => {
  const { services, jobsKey, download, create, get, untilEnded } = await openJobsGateway();
  const client = (await openCore({ services })).clientOf(JobService);
  const call = { metadata: { 'x-api-key': jobsKey } };
  const untilDone = async (request: object): Promise<WatchJobResponse> => {
    const { job } = await client.unary('createJob', { voiceId: 'tone-low', ...request }, call);
    return (await Array.fromAsync<WatchJobResponse>(client.stream('watchJob', { jobId: job!.id }, call))).at(-1)!;
  };
  const rest = await untilEnded((await create({ ssml: document, chapters: undefined })).id);
  const sound = await download(rest.chapters[0].audio_url);
  for (const request of [{ ssml: document }, { chapters: [{ ssml: document }] }]) {
    const { job } = await untilDone(request);
    expect(job).toMatchObject({ status: JobStatus.SUCCEEDED });
    expect((await download((await get(job!.id)).chapters[0].audio_url)).equals(sound)).toBe(true);
  }
  const refusalOf = async (request: object) =>
    explain(await failureOf(client.unary('createJob', { voiceId: 'tone-low', ...request }, call))).violations;
  expect(await refusalOf({ ssml: document, text: 'A.' })).toMatchObject([{ field: 'text', reason: 'CONFLICT' }]);
  expect(await refusalOf({ chapters: [{ title: 'Empty' }] })).toMatchObject([
    { field: 'chapters[0].text', reason: 'REQUIRED' },
  ]);
  expect(await refusalOf({ chapters: [{ ssml: '<speak>A.' }] })).toMatchObject([
    { field: 'chapters[0].ssml', reason: 'MARKUP', description: expect.stringContaining('line 1') },
  ]);
});
