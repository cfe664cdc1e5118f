// Recognizes chapter titles: a word for "chapter" with a number, in several languages, or the name of a well-known part
// such as a prologue.
import { parseRoman } from '../../text/number-words.ts';

const number = String.raw`(?:\d{1,4}|[ivxlcdm]{1,9})`;
/** Matches the numbers from one to a hundred in words, but also other words. */
const words = String.raw`(?:the )?\p{L}{2,14}(?:[- ]\p{L}{2,9})?`;
const before =
  'chapter|chap\\.?|canto|stave|letter|lecture|lesson|scene|act|book|part|volume|section|kapitel|kap\\.?|abschnitt|buch|teil|band|chapitre|livre|partie|tome|lettre|capítulo|capitulo|cap\\.?|libro|parte|carta|capitolo|lettera|livro|hoofdstuk|boek|deel|rozdział|rozdzial|księga|część|kapitola|díl|luku|osa|bölüm|bok|del|глава|часть|книга|розділ|частина|κεφάλαιο';
const after =
  'kapitel|buch|teil|abschnitt|fejezet|rész|luku|osa|bölüm|kapitola|hoofdstuk|deel|bok|kapitlet|capítulo|parte';
const named =
  'prologue|epilogue|introduction|conclusion|interlude|prolog|epilog|einleitung|einführung|schluss|zwischenspiel|épilogue|introduction|conclusion|prólogo|epílogo|introducción|conclusión|prologo|epilogo|introduzione|conclusione|introdução|conclusão|proloog|epiloog|inleiding|wstęp|zakończenie|prolog|inledning|пролог|эпилог|введение|заключение';

const numberedPattern = new RegExp(`^(?:${before})\\s+(?:${number})(?=$|[\\s.:,;—–-])`, 'iu');
const wordedPattern = new RegExp(`^(?:${before})\\s+${words}\\s*(?:$|[.:—–-])`, 'iu');
const trailingPattern = new RegExp(`^(?:${number}\\.?|${words})\\s+(?:${after})(?=$|[\\s.:—–-])`, 'iu');
const namedPattern = new RegExp(`^(?:${named})\\s*(?:$|[.:—–-])`, 'iu');
const chinesePattern = /^第\s*[\d〇零一二三四五六七八九十百千０-９]{1,6}\s*[章回節节卷部話话]/u;
const koreanPattern = /^제\s*\d{1,4}\s*[장부화권]/u;
const bareNumberPattern = new RegExp(`^(?:§ ?)?${number}\\.?$`, 'iu');

/** Whether the line is a chapter title. Neighbouring lines do not matter. */
export function isChapterTitle(line: string): boolean {
  const title = line.trim();
  return (
    numberedPattern.test(title) ||
    namedPattern.test(title) ||
    chinesePattern.test(title) ||
    koreanPattern.test(title) ||
    (isShort(title) && (wordedPattern.test(title) || trailingPattern.test(title)))
  );
}

const isShort = (title: string): boolean => title.length <= 60 && !/[,;!?]$/.test(title);

/** Whether the title is only a number. */
export const isBareNumber = (line: string): boolean => bareNumberPattern.test(line.trim());

/** Whether the title is only a chapter number, so that the next line may be the chapter's name. */
export const isNumberOnly = (title: string): boolean =>
  isBareNumber(title) ||
  new RegExp(
    `^(?:(?:${before})\\s+(?:${number}|${words})|(?:${number}\\.?|${words})\\s+(?:${after}))[.:]?$`,
    'iu',
  ).test(title.trim());

/** Number of a chapter in digits or Roman numerals; undefined if the text is not a number. */
export function chapterNumberOf(text: string): number | undefined {
  const plain = text.replace(/[^\p{L}\p{N}]/gu, '');
  return /^\d{1,4}$/.test(plain) ? Number(plain) : parseRoman(plain.toUpperCase());
}
