// English words: which capitals are spelled (FBI, CPUs) and which are a word (NASA, shouting), Roman numerals by the word
// before them (Henry VIII, Chapter IV), names of Greek letters, and words of other scripts, which are transliterated
// rather than dropped.
import anyAscii from 'any-ascii';
import { parseRoman } from '../roman.ts';
import { charBefore, type Place, rule, startSource, textBefore, wordAfter, wordBefore } from '../rule.ts';
import { wordSet, wordTable } from '../word-table.ts';
import { sayCardinal, sayDigits, sayOrdinal } from './numbers.ts';

/** Words that are read otherwise than they are written. */
const special = wordTable(`
  vs versus; aka A K A; approx approximately; etc et cetera; OK okay; Ok Okay; ok okay; JSON Jason; JPEG J peg
  MPEG M peg; ASCII Askey; SCSI Scuzzy; IEEE I triple E; NAACP N double A C P; WWI World War One; WWII World War Two
  PhD P H D; PhDs P H D's; BSc B S C; MSc M S C; iOS I O S; macOS mac O S; HTTPS H T T P S; COVID Covid
  LaTeX Lay tech; eg for example; ie that is; Mr Mister; Mrs Missus; Ms Miz; Mx Mix; IPv I P version; DIY D I Y
  pH P H; YoY year over year; QoQ quarter over quarter; thx thanks; Thx Thanks; pls please; plz please
  btw by the way; tmrw tomorrow; ppl people; NET Net
`);

export const isSpecialWord = (word: string): boolean => special.has(word);

/** Capitals that are spelled although they are pronounceable. */
const spelled = wordSet(`
  ASAP UCLA USAF AARP AAA ABC ACLU AI AIG AOL API ATM AT AWS BA BBC CEO CIA CIO CFO COO DIY DOA EA ECB EDM EPA ESA ETA EU EUR FAQ
  FDA GOP HBO HR ICU ID IMF IOC IOU IPA IPO IQ IRA IRS ISO ISS IT IV LA MIT NBA NBC OED OECD PA PR RIP ROI SEO SOS SUV TLA UAE
  UAV UFC UFO UI UK UN UNHCR URI URL US USA USB UX VIP WTO YMCA IDE SDK DNA RNA HIV IBM IKE LED OLED EV ER AC DC PC TV CD DVD
  OEM IPOS ETF EPS EOD AMA ADA ADHD UEI IBD IUD ALS ERP EMEA UPS UTC USDA UPI USSR IATA IPCC IUPAC
`);
/** Acronyms that are read as a word. */
const spoken = wordSet(`
  NASA NATO AIDS SARS LAN WAN RAM ROM SIM PIN GIF ZIP DOS NAS BIOS SCUBA LASER RADAR SONAR OPEC FIFA UEFA UNESCO UNICEF NAFTA
  FEMA OSHA SWAT CAPTCHA MIDI VOIP POTUS SCOTUS FLOTUS WYSIWYG YOLO FOMO SOHO TED MAD CAD CAM JAVA RAID NORAD HIPAA COBRA
  EBITDA NASDAQ DARPA CERN GDPR-like REST CRUD SAP BASIC COBOL FORTRAN LISP PERL RUBY IKEA ASEAN NIMBY SPAC MOMA
`);
/** Common words of two and three letters, for text in capitals. */
const common = wordSet(`
  AM AN AS AT BE BY DO GO HE IF IN IS ME MY NO OF ON OR SO TO UP WE OH HI AH US IT ALL AND ANY ARE ASK BAD BAG BED BIG BOX BOY
  BUS BUT BUY CAN CAR CAT CUT DAD DAY DID DOG DRY DUE EAT END EYE FAR FEW FIT FLY FOR FUN GET GOD GOT GUN GUY HAD HAS HAT HER
  HEY HIM HIS HIT HOT HOW ICE ILL ITS JOB JOY KEY KID LAW LAY LET LIE LOT LOW MAN MAY MEN MET MOM NEW NOR NOT NOW ODD OFF OIL
  OLD ONE OUR OUT OWN PAY PER PUT RAN RED RUN SAD SAW SAY SEA SEE SET SHE SIT SIX SKY SON SUN TAX TEN THE TOO TOP TRY TWO USE
  VIA WAR WAS WAY WHO WHY WIN WON YES YET YOU
`);
/** Common words that, in capitals amid small letters, are more likely initials. */
const initials = wordSet('US IT WHO AM');

const onset =
  /^(?:[AEIOUY]|QU[AEIOU]|[BCDFGHJKLMNPRSTVWXZ][AEIOUY]|(?:BL|BR|CH|CL|CR|DR|DW|FL|FR|GH|GL|GN|GR|KN|KR|PH|PL|PR|PS|SC|SH|SK|SL|SM|SN|SP|SQ|ST|SW|TH|TR|TW|WH|WR|CHR|PHR|SCH|SCR|SHR|SPL|SPR|SQU|STR|THR)[AEIOUY])/;
const coda =
  /(?:[AEIOUY]|[AEIOUY][BCDFGKLMNPRSTVWXZH]|CK|CH|SH|TH|NG|NK|ND|NT|ST|LD|LT|RD|RT|RK|RM|RN|RS|NS|TS|PS|KS|MS|DS|GS|LS|BS|CS|MP|FT|CT|PT|LF|LK|LP|LM|RB|RC|RF|RG|RL|RP|SK|SP|SS|LL|FF|ZZ|TT|GH|PH|WN|WL|WS|XT|RV|LV|RTH|NTH|LTH|NCH|TCH|RCH|GHT|NDS|NTS|STS|RDS|RTS|RKS|RMS|RNS|LDS|CKS|NGS|NKS|MPS|RST|GHTS|NGTH)$/;

/** Whether capitals could be said as a word. */
const isPronounceable = (capitals: string): boolean =>
  onset.test(capitals) && coda.test(capitals) && !/[^AEIOUY]{5}/.test(capitals);

/** Whether a neighbour is a word in capitals too. */
const isShouted = (place: Place, length: number): boolean =>
  [wordBefore(place), wordAfter(place.text, place.at + length)].some(
    (word) =>
      /^[A-Z']{2,}$/.test(word) &&
      (common.has(word) || (word.length > 3 && isPronounceable(word) && !spoken.has(word))),
  );

const spell = (letters: string): string => [...letters.toUpperCase()].join(' ');

const toTitle = (capitals: string): string => capitals[0] + capitals.slice(1).toLowerCase();

function sayCapitals(capitals: string, place: Place, length: number): string {
  const shouted = isShouted(place, length);
  if (common.has(capitals) && (shouted || !initials.has(capitals))) return capitals.toLowerCase();
  if (capitals === 'OK') return 'okay';
  if (spoken.has(capitals)) return toTitle(capitals);
  if (spelled.has(capitals) || (capitals.length < 4 && !shouted)) return spell(capitals);
  if (!isPronounceable(capitals)) return spell(capitals);
  return shouted ? capitals.toLowerCase() : toTitle(capitals);
}

/** Reads a word that stands alone or inside a longer name. */
function sayWord(word: string, place: Place): string {
  if (special.has(word) && charBefore(place) !== '/') return special.get(word)!;
  if (!/^[\p{Script=Latin}\p{M}']*$/u.test(word)) return transliterate(word);
  if (joinedAndPattern.test(word)) return word.replace(joinedAndPattern, ' and ');
  // Combining marks that have no composed form.
  if (/\p{M}/u.test(word)) return word.replace(/\p{M}/gu, '');
  const match = /^([A-Z]{2,})('?s|S'|'S)?$/.exec(word);
  if (match && word.length <= 24) {
    const [, capitals, ending] = match;
    const said = sayCapitals(capitals!, place, word.length);
    if (!ending) return said;
    return / .$|^.$/.test(said) ? `${said}'s` : `${said}${ending.toLowerCase()}`;
  }
  if (/^[b-df-hj-np-tv-xz]{2,5}$/.test(word) && !interjections.has(word)) return spell(word);
  return word;
}

/** Words beside which an n in quotes is the letter, as in "the letter 'n' is", not "and". */
const besideLetter = wordSet(`
  a an the of in on to by for from with as and or if let say type press is are was be must where letter letters key keys
  variable character symbol value called named times items
`);

/** rock 'n' roll, Guns N' Roses */
export const elidedAndRule = rule(String.raw`(?i:(?:'n'?|n')(?= \p{L}))`, ([written], place) => {
  const { text, at } = place;
  const sides = [wordBefore(place), wordAfter(text, at + written.length)];
  const isBetween = /\p{L} $/u.test(textBefore(place, 2));
  return isBetween && !sides.some((side) => besideLetter.has(side.toLowerCase())) ? 'and' : undefined;
});

/** drum'n'bass */
const joinedAndPattern = /(?<=^\p{L}+)'n'(?=\p{L}+$)/iu;

/** Words without a vowel. */
const interjections = wordSet(`
  hm hmm hmmm mm mmm mhm shh shhh sh psst pst pfft tsk brr brrr grr grrr nth zzz pff phew th st nd rd ll ve d s t m re
`);

const greek = wordTable(`
  α alpha; β beta; γ gamma; δ delta; ε epsilon; ζ zeta; η eta; θ theta; ι iota; κ kappa; λ lambda; μ mu; ν nu; ξ xi
  ο omicron; π pi; ρ rho; σ sigma; ς sigma; τ tau; υ upsilon; φ phi; χ chi; ψ psi; ω omega
`);

function transliterate(word: string): string {
  const letter = greek.get(word.toLowerCase());
  if (letter !== undefined) return letter;
  const ascii = anyAscii(word.normalize('NFC'))
    .replace(/[^A-Za-z0-9' ]+/g, '')
    .trim();
  // Some rare ideographs have no transliteration; they are not dropped.
  return ascii === '' ? 'character' : ascii;
}

export const wordRule = rule(String.raw`[\p{L}\p{M}]+(?:'[\p{L}\p{M}]+)*`, ([word], place) => sayWord(word, place));

const cardinalNames = wordSet(`
  Chapter Part Volume Vol Book Act Scene Section Phase Type Grade Class Title Article Appendix Figure Table Level Stage Page Episode
  Season Mark Group Region Division Schedule Annex Canto Corps War Bowl Olympics Games Factor Apollo Gemini Saturn Windows
  chapter part volume book act scene section phase type grade class title article appendix figure table level stage verse
`);
const regnalNames = wordSet(`
  Henry Louis Charles George Edward James William Richard Philip Philippe Ferdinand Frederick Friedrich Wilhelm Nicholas
  Alexander Peter Paul Pius John Benedict Gregory Leo Innocent Clement Urban Boniface Elizabeth Catherine Mary Anne Victoria
  Francis Napoleon Ivan Otto Leopold Ludwig Gustav Carl Karl Christian Haakon Olaf Harald Juan Carlos Alfonso Felipe Pedro
  Ramesses Ptolemy Cleopatra Darius Xerxes Artaxerxes Constantine Theodosius Justinian Basil Robert Alfred Albert Rainier
  Margrethe Stephen Stefan Sigismund Casimir Umberto Vittorio Emmanuel Manuel Joseph Josef Franz Maximilian Murad Mehmed
  Selim Suleiman Haile Rama Mohammed Hassan Abdullah Hussein King Queen
`);

/** The word before a Roman numeral decides how it is read; a single letter is one only after a known word. */
export const romanRule = rule(
  String.raw`${startSource}([IVXLCDM]{1,9})('s)?(?![\p{L}\d]|\.\p{L})`,
  ([, numeral, possessive = ''], place) => {
    const value = parseRoman(numeral!);
    if (value === undefined) return undefined;
    const before = /\S ["'(]?$/.test(textBefore(place, 3)) ? wordBefore(place) : '';
    if (cardinalNames.has(before)) return `${sayCardinal(value)}${possessive}`;
    if (regnalNames.has(before) && value < 40) {
      // Charles the First, unless a verb follows the "I".
      const isPronoun =
        numeral === 'I' && /^(?:am|have|think|know|do|see|saw)$/.test(wordAfter(place.text, place.at + 1));
      return isPronoun ? undefined : `the ${sayOrdinal(value)}${possessive}`;
    }
    if (numeral!.length < 2 || !/^[IVX]+$/.test(numeral!)) return undefined;
    if (numeral === 'IV' || numeral === 'XX' || numeral === 'XI') {
      return /^\p{Lu}\p{Ll}/u.test(before) ? sayCardinal(value) : undefined;
    }
    return `${sayCardinal(value)}${possessive}`;
  },
);

/** Reads a part of an address or a file name: letters as words or spelled, up to two digits as a number, more one by one. */
export function sayNamePart(part: string, place: Place): string {
  const plain = part.replace(/[^\P{N}\d]/gu, (number) => number.normalize('NFKC'));
  const said = plain.match(/\d+|[\p{L}\p{M}]+/gu)?.map((run) => {
    if (!/\d/.test(run)) return sayWord(run, place);
    return run.length <= 2 && !run.startsWith('0') ? sayCardinal(run) : sayDigits(run);
  });
  return said?.join(' ') ?? '';
}
