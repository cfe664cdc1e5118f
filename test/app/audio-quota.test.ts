// Tests the whole service with quotas from the settings for stored audio, which /readyz and /metrics report.
import { expect, test } from 'vitest';
import { openConfigured } from './open-configured.ts';

test('the quotas of the settings hold, and are reported with what is stored', async () => {
  const { url, key } = await openConfigured({ SONANT_AUDIO_MIB_MAX: '4096', SONANT_AUDIO_MIB_PER_KEY: '1' });
  const speak = async (text: string) => {
    const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' };
    const body = JSON.stringify({ voice_id: 'tone-low', text, sample_rate: 24_000 });
    const answer = await fetch(`${url}/api/audio/speech`, { method: 'POST', headers, body });
    await answer.arrayBuffer();
    return answer.status;
  };
  expect(await speak('Hello there.')).toBe(200);
  expect(await speak('one two three four '.repeat(60))).toBe(507);
  const ready = await fetch(`${url}/readyz`);
  expect([ready.status, await ready.json()]).toEqual([200, { status: 'ready' }]);
  const metrics = await (await fetch(`${url}/metrics`)).text();
  const figure = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics)?.[1]);
  expect(figure('sonant_audio_stored_bytes')).toBeGreaterThan(20_000);
  expect(figure('sonant_audio_quota_bytes')).toBe(2 ** 32);
  expect(figure('sonant_audio_key_quota_bytes')).toBe(2 ** 20);
  expect(figure('sonant_audio_free_bytes')).toBeGreaterThan(0);
  expect([figure('sonant_audio_removed_total'), figure('sonant_usage_pending_rows')]).toEqual([0, 0]);
});
