// Recognizes chapter titles: a word for "chapter" with a number, in several languages, or the name of a well-known part
// such as a prologue. Also determines the part of a book by titles and by names in the markup.
import { parseRoman } from '../../text/number-words.ts';
import type { BookPart } from './book.ts';

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

// Parts are stated by the names of EPUB and ARIA (https://www.w3.org/TR/epub-ssv-11/), by the terms of the EPUB 2 guide,
// or by titles in European languages.

const rolesByPart: Readonly<Record<BookPart, string>> = {
  front: `frontmatter cover titlepage halftitlepage title-page copyright-page toc landmarks loi lot lov dedication epigraph
    foreword preface acknowledgments acknowledgements imprint imprimatur seriespage other-credits contributors
    page-list`,
  body: 'bodymatter chapter part volume subchapter prologue epilogue introduction conclusion division text start',
  notes: 'footnote footnotes endnote endnotes rearnote rearnotes note notes',
  back: 'backmatter index glossary bibliography colophon appendix afterword errata credits copyright',
};

const partsByRole: ReadonlyMap<string, BookPart> = new Map(
  (Object.keys(rolesByPart) as BookPart[]).flatMap((part) =>
    rolesByPart[part].split(/\s+/).map((role) => [role, part] as const),
  ),
);

/** The part stated by the tokens of `epub:type`, `role` or a guide's `type`. The first known token decides. */
export function partOfRoles(roles: string): BookPart | undefined {
  for (const role of roles.toLowerCase().split(/\s+/)) {
    const part = partsByRole.get(role.replace(/^(doc-|other\.|z3998:)/, ''));
    if (part) return part;
  }
  return undefined;
}

const titlePatterns: readonly (readonly [BookPart, RegExp])[] = [
  [
    'notes',
    /^(?:(?:end|foot)?notes?|notes (?:to|on) .*|(?:end|fu(?:ß|ss))noten|anmerkung(?:en)?|notes de .*|notas|note|noter|noten|voetnoten|eindnoten|przypisy|примечания|poznámky|jegyzetek|viitteet)$/,
  ],
  [
    'front',
    /^(?:(?:front )?cover|half[- ]?title|title[- ]?page|copyright(?: (?:page|notice))?|(?:table of )?contents|dedication|epigraph|foreword|preface|acknowledge?ments?|praise for .*|list of (?:illustrations|figures|tables|maps)|illustrations|maps?|frontispiece|also by .*|books by .*|titelseite|titelblatt|impressum|inhalt(?:sverzeichnis)?|widmung|vorwort|danksagung|couverture|page de titre|table des mati[eè]res|sommaire|d[ée]dicace|pr[ée]face|avant-propos|remerciements|portada|cr[ée]ditos|[ií]ndice|contenido|dedicatoria|prefacio|pr[oó]logo del editor|agradecimientos|copertina|frontespizio|indice|sommario|dedica|prefazione|ringraziamenti|capa|sum[aá]rio|conte[uú]do|dedicat[oó]ria|pref[aá]cio|agradecimentos|omslag|titelpagina|inhoud(?:sopgave)?|opdracht|voorwoord|dankwoord|ok[lł]adka|strona tytu[lł]owa|spis tre[sś]ci|dedykacja|przedmowa|podzi[eę]kowania|inneh[aå]ll(?:sf[oö]rteckning)?|f[oö]rord|содержание|оглавление|предисловие|посвящение)$/,
  ],
  [
    'back',
    /^(?:index|glossary|bibliography|references|works cited|further reading|colophon|afterword|appendix(?:es)?(?: .*)?|appendices|about the (?:authors?|publisher|editor|translator)|copyright and licen[cs]e|(?:the )?(?:full )?project gutenberg.*licen[cs]e.*|transcriber[’']?s notes?|advertisements?|register|glossar|literatur(?:verzeichnis)?|nachwort|anhang(?: .*)?|über (?:den autor|die autorin)|glossaire|bibliographie|postface|annexes?|à propos de l[’']auteur|glosario|bibliograf[ií]a|ep[ií]logo del editor|ap[eé]ndice|sobre (?:el|la|o|a) autora?|glossario|bibliografia|postfazione|appendice|l[’']autor[ei]|posf[aá]cio|nawoord|register|bijlagen?|over de auteur|pos[lł]owie|indeks|o autorze|register|efterord|глоссарий|послесловие|об авторе)$/,
  ],
];

/** The part that a title alone implies; undefined if the title could be a chapter title. */
export function partOfTitle(title: string): BookPart | undefined {
  const plain = title
    .normalize('NFC')
    .toLowerCase()
    .replace(/^[\s\p{P}\p{S}]+|[\s\p{P}\p{S}]+$/gu, '')
    .replace(/\s+/g, ' ');
  return titlePatterns.find(([, pattern]) => pattern.test(plain))?.[0];
}
