// What becomes of kept voices on the command line, which must not hang on an engine being well: somebody's consent can
// always be withdrawn.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openSqlite } from '../../src/store/sqlite.ts';
import { createVoiceRows } from '../../src/store/voice-rows.ts';
import { operatorErrand, toRecordEntry } from '../../src/voices/voice-errand.ts';
import { runSonant } from './sonant-program.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sonant-cli-voice-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const env = { SONANT_GOOGLE_CREDENTIALS: '/nowhere.json', SONANT_DATA_DIR: 'data' };
const voice = (...args: string[]) => runSonant(folder, ['voice', ...args], '', env);
const inStore = async (work: (store: Awaited<ReturnType<typeof openSqlite>>) => Promise<unknown>) => {
  const store = await openSqlite(join(folder, 'data', 'sonant.db'));
  await work(store).finally(() => store.close());
};

test('a voice is exported, silenced, deleted and told of though its engine is broken', async () => {
  await inStore((store) =>
    createVoiceRows(store).change('ada', () => ({
      row: {
        ...{ voiceId: 'ada', name: 'Ada', description: '', kind: 'cloned', status: 'ready', version: 1, labels: '{}' },
        ...{ languageCodes: 'en', bindings: '[]', consent: '{"givenAtMs":1}', createdAtMs: 1, updatedAtMs: 1 },
      },
      entry: toRecordEntry({ action: 'clone', voiceId: 'ada', atMs: 1, detail: {} }, operatorErrand),
    })),
  );
  expect(await voice('export', 'ada')).toMatchObject({ code: 0, out: expect.stringContaining('"name": "Ada"') });
  expect(await voice('revoke', 'ada')).toMatchObject({ code: 0, out: expect.stringContaining('speaks no more') });
  expect(await voice('delete', 'ada')).toMatchObject({ code: 0, out: 'ada is deleted.\n' });
  expect((await voice('record')).out).toMatch(/^1 .* clone .*\n2 .* revoke_consent .*\n3 .* delete /m);
  for (const action of ['revoke', 'delete'])
    expect(await voice(action, 'ada')).toMatchObject({ code: 1, err: 'sonant: No voice ada is kept here.\n' });
});

test('a record that was changed is told of in a sentence', async () => {
  await inStore((store) => store.query("update voice_record set actor = 'nobody' where entry = 2"));
  const err = 'sonant: entry 2 of the voice record is missing or was changed\n';
  expect(await voice('record')).toMatchObject({ code: 1, out: '', err });
});
