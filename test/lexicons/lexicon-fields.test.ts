// Phonemes of a lexicon: all of the IPA is taken, and what no IPA has is refused, in JSON and in PLS alike.
import { expect, test } from 'vitest';
import { Failure } from '../../src/errors.ts';
import { checkLexicon } from '../../src/lexicons/lexicon-fields.ts';
import { atOnce } from '../../src/runtime/steps.ts';

const messageOf = (content: Parameters<typeof checkLexicon>[0]['content']): string | undefined => {
  try {
    atOnce(checkLexicon({ name: 'x', access: undefined, content }));
    return undefined;
  } catch (error) {
    if (error instanceof Failure) return error.facts.details![0]!.message;
    throw error;
  }
};

test.each([
  ['ˈnjutən t͡ʃ d‿ɪ ma˥˩ ma⁵⁵ ɓ̥ˤʷʲⁿˡ̚ ǃǀǁǂʘ', undefined],
  ['(r) a.b a-b [a] /a/ |a‖ ↗a↘ ꜛaꜜ ẽ õː˞ eˑ ĕ ʼ p’ θβχ ʦ ŋ̍', undefined],
  ["'gɪf:", undefined],
  ['ˌɪntɚˈnæʃ(ə)nəl', undefined],
  ['zzz%%', '%'],
  ['t@mA:t@U', '@'],
  ['a1 b2 a1', '1 2'],
  ['дом', 'д о м'],
  ['a☺$', '☺ $'],
])('%s holds what no IPA has: %s', (phoneme, foreign) => {
  const pls = `<lexicon version="1.0" alphabet="ipa"><lexeme><grapheme>a</grapheme><phoneme>${phoneme}</phoneme></lexeme></lexicon>`;
  for (const content of [{ entries: [{ grapheme: 'a', phoneme }] }, { pls, field: 'body' }]) {
    const told = messageOf(content);
    expect(told?.split('is not written in ipa, which has no ')[1]).toBe(foreign);
    if (foreign === undefined) expect(told).toBeUndefined();
  }
});
