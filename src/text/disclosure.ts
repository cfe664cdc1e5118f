// Sentences that disclose that a voice is synthetic, in the language of the voice.
import { invalidField } from '../platform/errors.ts';
import { languageOf } from '../platform/language-code.ts';
import { matchAt } from './rule.ts';
import { isSsml, prologEnd } from './ssml.ts';

const sentences = new Map(
  `ar هذا الصوت اصطناعي.
bn এই কণ্ঠস্বর কৃত্রিম।
cs Tento hlas je syntetický.
da Denne stemme er syntetisk.
de Diese Stimme ist künstlich erzeugt.
el Αυτή η φωνή είναι συνθετική.
en This voice is synthetic.
es Esta voz es sintética.
fi Tämä ääni on synteettinen.
fr Cette voix est synthétique.
hi यह आवाज़ कृत्रिम है।
hu Ez a hang szintetikus.
id Suara ini sintetis.
it Questa voce è sintetica.
ja この音声は合成されたものです。
ko 이 음성은 합성된 것입니다.
nb Denne stemmen er syntetisk.
nl Deze stem is synthetisch.
pl Ten głos jest syntetyczny.
pt Esta voz é sintética.
ro Această voce este sintetică.
ru Этот голос синтезирован.
sv Den här rösten är syntetisk.
tr Bu ses sentetiktir.
uk Цей голос синтезовано.
ur یہ آواز مصنوعی ہے۔
vi Giọng nói này là giọng tổng hợp.
zh 这是合成的语音。`
    .split('\n')
    .map((line) => [line.slice(0, 2), line.slice(3)] as const),
);

/** The disclosure in a language. Throws a Failure for a language without a disclosure. */
export function disclosureIn(languageCode: string): string {
  const sentence = sentences.get(languageOf(languageCode));
  if (sentence) return sentence;
  const message = `is not available in ${languageCode}; the available languages are ${[...sentences.keys()].join(', ')}`;
  throw invalidField('disclosure', 'unsupported_language', message);
}

/** A document type and the root element's opening tag. */
const opening = /(?:<![^>]*>\s*)*<(\w+:)?speak\b(?:"[^"]*"|'[^']*'|[^'">])*>/y;

/** Adds the disclosure as a paragraph before the text. An empty text becomes the disclosure. */
export function withDisclosure(text: string, isMarked: boolean, languageCode: string): string {
  const sentence = disclosureIn(languageCode);
  if (!isMarked || !isSsml(text)) return text === '' ? sentence : `${sentence}\n\n${text}`;
  const prolog = prologEnd(text);
  const [tag, prefix = ''] = matchAt(opening, text, prolog) ?? [];
  if (tag === undefined || tag.endsWith('/>')) {
    const message = 'cannot be added, because the document has no opening tag <speak>';
    throw invalidField('disclosure', 'markup', message);
  }
  const language = /\sxml:lang\s*=/.test(tag) ? ` xml:lang="${languageCode}"` : '';
  const at = prolog + tag.length;
  return `${text.slice(0, at)}<${prefix}p${language}>${sentence}</${prefix}p>${text.slice(at)}`;
}
