// Tests a person's voice at a speech server: cloned, used for speech, lost when the server restarts, used again, and
// deleted when consent is withdrawn. Only the server has the recording unencrypted.
import { expect, onTestFinished, test } from 'vitest';
import { openAiCompatible } from '../../src/engines/openai-compatible/openai-compatible.ts';
import { openVendor } from '../engines/speech-vendors.ts';
import { openCloning } from './open-cloning.ts';

test('a clone survives a restart of its server, and does not survive the withdrawal of consent', async () => {
  const { url, state, restart } = await openVendor('vLLM-Omni');
  const settings = { SONANT_OPENAI_URL: url };
  const { send, speak, form, logged, written, kept } = await openCloning(onTestFinished, openAiCompatible, settings);
  expect((await send('GET', '/api/cloning')).body.engines).toEqual([
    {
      ...{ engine: 'openai-compatible', sample_language_codes: ['en'], sample_seconds: { min: 3, max: 15 } },
      ...{ needs_reference_text: false, consent_scripts: {} },
    },
  ]);
  const reference_text = 'The boat left the harbour early.';
  const fields = { reference_text, consent_script: 'I agree that my voice becomes tones.' };
  const made = await send('POST', '/api/voices', form(fields));
  expect([made.status, made.body.details]).toEqual([201, undefined]);
  const { voice_id } = made.body;
  const [uploaded] = state.uploaded;
  expect(uploaded).toMatchObject({ ref_text: reference_text });

  const say = async (text: string) => {
    const { status, bytes } = await speak({ voice_id, text, output_format: 'wav', return_format: 'buffer' });
    // The service may also have tried the server's own voices.
    const { voice } = state.bodies.findLast(({ input }) => input === text)!;
    expect([status, voice]).toEqual([200, uploaded!.name]);
    expect(bytes.length).toBeGreaterThan(10_000);
  };
  await say('Good morning to all who are listening.');
  restart();
  await say('Good evening to all who are listening.');
  expect(state.uploaded).toEqual([{ ...uploaded!, createdAt: expect.any(Number) }]);

  const piece = uploaded!.wav.subarray(20_000, 20_064);
  const inNothing = async () => {
    for (const secret of [piece, Buffer.from(piece.toString('base64'))]) {
      expect(await kept.holders(secret)).toEqual([]);
      expect((logged.join('') + written.join('')).includes(secret.toString('latin1'))).toBe(false);
    }
  };
  await inNothing();
  expect((await kept.sealedClones(voice_id)).length).toBe(1);

  expect((await send('POST', `/api/voices/${voice_id}/consent/revoke`)).status).toBe(200);
  // The service may also have tried the server's own voices in the meantime.
  expect(state.asked).toContain(`DELETE /audio/voices/${uploaded!.name}`);
  expect([state.uploaded, await kept.sealedClones(voice_id)]).toEqual([[], []]);
  const refused = await speak({ voice_id, text: 'Good night.' });
  expect([refused.status, refused.body.error]).toEqual([409, 'voice_not_ready']);
  expect(state.uploaded).toEqual([]);
  await inNothing();
});

test('a clone that is not stored is deleted at its server', async () => {
  const { url, state } = await openVendor('vLLM-Omni');
  const {
    url: service,
    form,
    makeKey,
  } = await openCloning(onTestFinished, openAiCompatible, {
    SONANT_OPENAI_URL: url,
    SONANT_VOICES_PER_ACCOUNT: '0',
  });
  const key = await makeKey(['voices:write', 'voices:read']);
  const fields = { consent_script: 'I agree that my voice becomes tones.' };
  const headers = { 'X-API-Key': key };
  const refused = await fetch(`${service}/api/voices`, { method: 'POST', headers, body: form(fields) });
  expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('which is the limit')]);
  expect(state.asked).toContain('POST /audio/voices');
  expect(state.uploaded).toEqual([]);
});
