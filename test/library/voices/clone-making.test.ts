// Tests the languages in which a clone is created, and the consent texts in them; test/contract/ covers the rest.
import { expect, test } from 'vitest';
import type { Cloning } from '../../../src/engines/engine.ts';
import { createCloneMaking } from '../../../src/library/voices/clone-making.ts';
import type { CloneFields } from '../../../src/library/voices/voice-fields.ts';
import { Failure, type FieldViolation } from '../../../src/platform/errors.ts';
import { Schedule } from '../../../src/speech/schedule.ts';
import { createSpeech } from '../../../src/speech/synthesize.ts';
import { createVoices } from '../../../src/speech/voice.ts';
import { openTone } from '../../engines/tone-engine.ts';

const pcm = { samples: Int16Array.from({ length: 24_000 }, (_, n) => 9_000 * Math.sin(n / 20)), sampleRateHz: 24_000 };
const asked: CloneFields = {
  ...{ voiceId: '', name: 'Ada', description: '', labels: {}, languageCode: 'en-US', speakerName: 'Ada L.' },
  ...{ referenceAudio: Buffer.of(1), referenceText: '', consentAudio: Buffer.of(2), consentScript: '', engines: [] },
  access: undefined,
};

const speech = createSpeech({ voices: createVoices([]), schedule: new Schedule({ speakingMax: 1, waitingMax: 0 }) });

function openMaking(sampleLanguageCodes: readonly string[]) {
  const tone = openTone({ clones: true });
  const consentScripts = { 'en-GB': 'I agree, indeed.', 'en-US': 'I agree.', 'zh-CN': '我同意。' };
  const languageCodesFor = (code: string) => (code === 'en-GB' ? ['cy'] : []);
  const cloning = { ...tone.cloning!, sampleLanguageCodes, consentScripts, languageCodesFor };
  return createCloneMaking({
    engines: [{ ...tone, cloning }],
    readSamples: async () => ({ reference: pcm, consent: pcm }),
    speech,
  });
}

const { signal } = new AbortController();

async function make(sampleLanguageCodes: readonly string[], languageCode: string) {
  const { prepare, make } = openMaking(sampleLanguageCodes);
  const fields = { ...asked, languageCode };
  const faults: FieldViolation[] = [];
  const prepared = await prepare(fields, faults, signal);
  expect(faults).toEqual([]);
  return make(fields, prepared, 'test', signal);
}

test.each([
  ['en', 'en-GB', ['en-GB', 'cy'], 'I agree, indeed.'],
  ['en-US', 'en-US', ['en-US'], 'I agree.'],
  ['EN-us', 'en-US', ['en-US'], 'I agree.'],
  ['cmn-CN', 'zh-CN', ['zh-CN'], '我同意。'],
  ['zh', 'zh-CN', ['zh-CN'], '我同意。'],
])('%s is %s for an engine that knows regions', async (languageCode, known, languageCodes, consentScript) => {
  const made = await make(['en-GB', 'en-US', 'zh-CN'], languageCode);
  expect(made).toMatchObject({ languageCode: known, consentScript, clones: [{ languageCodes }] });
});

test('a bare language stays one for an engine that speaks all of it', async () => {
  const made = await make(['en-US', 'en'], 'en');
  expect(made).toMatchObject({ languageCode: 'en', clones: [{ languageCodes: ['en'] }] });
});

test('a clone is forgotten where another engine makes none', async () => {
  const forgotten: Uint8Array[] = [];
  const open = (name: string, more: Partial<Cloning>) => {
    const tone = openTone({ name, clones: true });
    return { ...tone, cloning: { ...tone.cloning!, ...more } };
  };
  const engines = [
    open('one', { forget: async (clone) => void forgotten.push(clone) }),
    open('other', { make: () => Promise.reject(new Failure('engine_unavailable')) }),
  ];
  const making = createCloneMaking({
    engines,
    readSamples: async () => ({ reference: pcm, consent: pcm }),
    speech,
  });
  const fields = { ...asked, engines: ['one', 'other'] };
  const prepared = await making.prepare(fields, [], signal);
  await expect(making.make(fields, prepared, 'test', signal)).rejects.toThrow();
  expect(forgotten).toHaveLength(1);
});

test('an engine that makes one clone per minute is not asked for a second one at once', async () => {
  const tone = openTone({ name: 'slow', clones: true });
  let madeCount = 0;
  const cloning: Cloning = {
    ...tone.cloning!,
    clonesPerMinute: 1,
    make(sample, by) {
      madeCount++;
      return tone.cloning!.make(sample, by);
    },
  };
  const readSamples = async () => ({ reference: pcm, consent: pcm });
  const making = createCloneMaking({ engines: [{ ...tone, cloning }], readSamples, speech });
  const prepared = await making.prepare(asked, [], signal);
  await making.make(asked, prepared, 'test', signal);
  const second = making.make(asked, prepared, 'other', signal);
  await expect(second).rejects.toMatchObject({ reason: 'engine_unavailable' });
  expect(madeCount).toBe(1);
});
