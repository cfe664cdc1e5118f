// Tests phonemes in lexicons: all of the IPA is accepted and other characters are refused, in JSON and in PLS.
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { expect, test } from 'vitest';
import { LexiconSpecSchema } from '../../../gen/sonant/v1/lexicon_pb.ts';
import { Violations } from '../../../src/contract/violations.ts';
import { checkLexicon } from '../../../src/library/lexicons/lexicon-fields.ts';
import { atOnce } from '../../../src/platform/runtime/steps.ts';

const messageOf = (content: MessageInitShape<typeof LexiconSpecSchema>): string | undefined => {
  const violations = new Violations();
  atOnce(checkLexicon(create(LexiconSpecSchema, { name: 'x', ...content }), violations));
  return violations.details[0]?.message;
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
  for (const content of [{ entries: [{ grapheme: 'a', phoneme }] }, { pls }]) {
    const told = messageOf(content);
    expect(told?.split('is not written in ipa, which has no ')[1]).toBe(foreign);
    if (foreign === undefined) expect(told).toBeUndefined();
  }
});
