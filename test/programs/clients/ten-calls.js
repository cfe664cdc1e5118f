// Makes the calls of a client one after another. Prints the result of each, or its exception, as JSON.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

export const given = JSON.parse(readFileSync(0, 'utf8'));
export const load = createRequire(join(given.packages, 'package.json'));

export const sound = (form, ...pieces) => ({ form, data: Buffer.concat(pieces).toString('base64') });

/** `speak` speaks a text as one sound. It takes `key`, `voice`, `text` and `form`, of which there are `forms`. */
export async function run(speak, { forms, interrupt, ...calls }) {
  const { limited: key, text, long } = given;
  const every = {
    whole: () => speak({}),
    async formats() {
      const sounds = await Promise.all(forms.map((form) => speak({ form })));
      return Object.fromEntries(forms.map((form, i) => [form, sounds[i]]));
    },
    async interrupt() {
      const late = (await interrupt()) ?? 0;
      return typeof late === 'object' ? late : { late, next: await speak({}) };
    },
    unknown_voice: () => speak({ voice: 'nobody' }),
    wrong_key: () => speak({ key: 'snt_wrong' }),
    quota: async () => {
      await speak({ key });
      return speak({ key, text: `${text}!` });
    },
    too_long: () => speak({ key, text: long }),
    ...calls,
  };
  const results = {};
  for (const [name, call] of Object.entries(every))
    results[name] = await call().catch((error) => ({ refused: error.constructor.name, message: error.message }));
  process.stdout.write(`${JSON.stringify(results)}\n`, () => process.exit());
}
