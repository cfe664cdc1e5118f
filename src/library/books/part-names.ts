// Determines the part of a book by the names of EPUB and ARIA (https://www.w3.org/TR/epub-ssv-11/), by the terms of the
// EPUB 2 guide, or by titles in European languages.
import type { BookPart } from './book.ts';

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
