// Tests `sonant voice default` and `sonant voice alias`: their output, the voice that speaks afterwards, and keys that
// are limited to an alias.
import { afterAll, expect, test } from 'vitest';
import { newFolder } from '../../new-folder.ts';
import { runMain } from './run-main.ts';

const folder = newFolder(afterAll);

const sonant = (args: string[], env: Record<string, string> = {}) =>
  runMain(folder, args, '', { SONANT_DATA_DIR: 'data', ...env });
const voice = async (...args: string[]) => {
  const { code, out, err } = await sonant(['voice', ...args]);
  return code === 0 ? out.trimEnd() : err.trimEnd();
};
const says = async (env: Record<string, string> = {}, ...flags: string[]) => {
  const { out } = await sonant(['say', 'Hello.', '-o', 'hello.wav', '--json', ...flags], env);
  return (JSON.parse(out) as { voice_id: string }).voice_id;
};

test('the default voice is told, chosen, spoken with, and taken back', async () => {
  expect(await voice('default')).toBe('arthur is the default voice (the first voice, because none is chosen).');
  expect(await voice('default', 'clara')).toBe('clara is the default voice (chosen).');
  expect(await says()).toBe('clara');
  expect(JSON.parse(await voice('default', '--json'))).toEqual({
    voice_id: 'clara',
    source: 'choice',
    chosen_voice_id: 'clara',
  });
  const listed = await voice('list', '--json');
  expect(JSON.parse(listed)[0].voice_id).toBe('clara');
  expect(await voice('default', 'nobody')).toMatch(/^sonant: Voice nobody not found/);
  expect(await voice('default', '--remove')).toBe(
    'arthur is the default voice (the first voice, because none is chosen).',
  );
});

test('the setting goes before the choice, which is said', async () => {
  const env = { SONANT_DEFAULT_VOICE: 'angus' };
  const { out } = await sonant(['voice', 'default', 'clara'], env);
  expect(out).toBe('angus is the default voice: SONANT_DEFAULT_VOICE is angus and overrides the chosen voice clara.\n');
  expect([await says(env), await says()]).toEqual(['angus', 'clara']);
});

test('a voice gets aliases, speaks under them, and loses them', async () => {
  expect(await voice('alias')).toBe('No aliases.');
  expect(await voice('alias', 'clara', 'alloy', 'en-US-Chirp3-HD-Achernar')).toMatch(
    /^ALIAS +VOICE\nalloy +clara\nen-US-Chirp3-HD-Achernar +clara$/,
  );
  expect(await says({}, '--voice', 'alloy')).toBe('clara');
  expect(await voice('alias', 'alloy', 'nova')).toContain('nova');
  expect(await voice('alias', 'angus', 'nova', 'arthur')).toBe(
    'sonant: nova: is an alias of the voice clara\n  arthur: is the id of another voice',
  );
  expect(JSON.parse(await voice('alias', '--json'))).toContainEqual({
    voice_id: 'clara',
    aliases: ['alloy', 'en-US-Chirp3-HD-Achernar', 'nova'],
  });
  const made = await sonant(['key', 'create', '--voices', 'alloy, angus', '--json']);
  expect(JSON.parse(made.out).voice_ids).toEqual(['clara', 'angus']);
  const refused = await sonant(['key', 'create', '--voices', 'angus, nobody']);
  expect(refused).toMatchObject({ code: 2, err: 'sonant: --voices: nobody is not a voice that this key can use\n' });
  expect(await voice('alias', 'clara', 'echo', '--remove')).toMatch(/^sonant: clara has no alias echo; it has alloy/);
  expect(JSON.parse(await voice('alias', 'clara', 'alloy', 'nova', '--remove', '--json'))).toEqual({
    voice_id: 'clara',
    aliases: ['en-US-Chirp3-HD-Achernar'],
  });
  expect(await voice('record')).toMatch(/ update +clara$/m);
});
