// Tests the preview of every voice of the built-in engines and of eSpeak NG: it speaks a sentence.
import { afterAll, expect, test } from 'vitest';
import { decodeRecording } from '../../../src/audio/recording/recording.ts';
import { openEspeakNg } from '../../../src/engines/espeak-ng/espeak-ng.ts';
import { openFlite } from '../../../src/engines/flite/flite.ts';
import { bytesOf, openTestGateway } from '../../transports/http/open-gateway.ts';

const engines = [await openFlite({ threads: 1 }), await openEspeakNg()].filter((engine) => engine !== undefined);
afterAll(() => Promise.all(engines.map((engine) => engine.close())));
const { url, key } = await openTestGateway({ engines }, afterAll);

test.each(engines.flatMap(({ voices }) => voices.map(({ voiceId }) => voiceId)))(
  'the preview of %s speaks',
  async (voiceId) => {
    const answer = await fetch(`${url}/api/voices/${voiceId}/preview`, { headers: { 'X-API-Key': key } });
    expect(answer.status, await answer.clone().text()).toBe(200);
    const { samples, sampleRateHz } = await decodeRecording(await bytesOf(answer), { secondsMax: 30 });
    const loud = samples.filter((sample) => Math.abs(sample) > 0.02).length;
    expect(loud / sampleRateHz, 'seconds of sound').toBeGreaterThan(0.2);
  },
);
