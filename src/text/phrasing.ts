// Tables of phrase breaks by language: words that open a phrase, words that cling to the next word, abbreviations whose
// full stop does not end a sentence, and words that begin sentences. A language without a row is split only at
// punctuation. To add a language, add a row.
import { type AbbreviationRows, type LanguageTable, readTable, toRows } from './language-table.ts';
import { type Rule, rule, textAfter, wordBefore, wordSet } from './rule.ts';
import { expandPattern } from './written-rules.ts';

export interface Phrasing {
  /** Conjunctions and relative pronouns. A weak break precedes them. */
  openers: ReadonlySet<string>;
  /** Articles and prepositions. No break follows them. */
  clinging: ReadonlySet<string>;
  /** Meanings of full stops by abbreviation. Keys lack the last stop, and are in lower case except for names. */
  abbreviations: ReadonlyMap<string, AbbreviationRows['means']>;
  /** Capitalised words that begin a sentence rather than continue a name. */
  starters: ReadonlySet<string>;
  /** Whether a full stop after a number makes it an ordinal: "der 3. Mai". */
  hasOrdinalStops?: boolean;
}

const toAbbreviations = (list: string, kind: AbbreviationRows['means']): Phrasing['abbreviations'] =>
  new Map([...wordSet(list)].map((word) => [word, kind]));

/** Creates phrasing from lists of words. */
const toPhrasing = (
  lists: Record<'openers' | 'clinging' | 'inner' | 'starters', string>,
  hasOrdinalStops = false,
): Phrasing => ({
  hasOrdinalStops,
  openers: wordSet(lists.openers),
  clinging: wordSet(lists.clinging),
  abbreviations: toAbbreviations(lists.inner, 'inner'),
  starters: wordSet(lists.starters),
});

/** Phrasing for English. The English table is read when English is first spoken. */
const toEnglish = (): Phrasing => ({
  openers: wordSet(`
    and but or nor so yet because although though since unless until while whereas when whenever where wherever which
    who whom whose that if after before as than whether like with without for from into through during including
  `),
  clinging: wordSet(`
    a an the of to in on at by for from with my your his her its our their this that these those no every each some any
    very more most mr mrs ms dr prof is are was were be been not and or but
  `),
  abbreviations: new Map([
    ...stopMeanings(readTable('en')),
    ['Ft', 'title'],
    ...toAbbreviations('Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec', 'final'),
    ...toAbbreviations('Mon Tue Tues Wed Thu Thur Thurs Fri Sat Sun', 'final'),
  ]),
  starters: wordSet(`
    The This That These Those He She It They We You I But And So Then There Here When While After Before However Although
    If On At For What Who Why How Where Yes No My His Her Our Their Its Some Many Most All Meanwhile Later Now Today
    Yesterday Tomorrow Once Still Perhaps Maybe Such Each Every Both Another Since Because Let Please Is Are Was Were Do
    Does Did Can Could Will Would Should Have Has Had
  `),
});

let english: Phrasing | undefined;

const rows: Readonly<Record<string, Phrasing>> = {
  de: toPhrasing(
    {
      openers: 'und aber oder denn sondern weil dass wenn als ob obwohl während nachdem bevor damit die der das wo wie',
      clinging: 'der die das den dem des ein eine einen einem einer in im an am auf mit von vom zu zum zur für bei',
      inner: `
      z b z.b d h d.h u a u.a bzw ca dr prof hr fr frl nr str st tel evtl ggf inkl max min abb s bd sog vgl dipl ing jh
      jan feb mär apr jun jul aug sep sept okt nov dez mio mrd bio tsd std min sek abs art kap tab fig aufl hrn fr
      nrn rn ziff anm hrsg lt gem insb eigtl mind bspw allg zzgl abzgl exkl s i v chr n e o ä t zt r m ev geb gest verh
    `,
      starters: `
      Der Die Das Ein Eine Er Sie Es Wir Ich Und Aber Dann Wenn Als In Im Am Auf Doch So Dies Diese Danach Dort Da Nach
      Bei Mit Von Zu Für Alle Viele Man Heute Gestern Morgen Jetzt Nun Hier Was Wer Wie Wo Warum Sein Seine Ihr Ihre
    `,
    },
    true,
  ),
  fr: toPhrasing({
    openers: "et mais ou donc car que qui dont où quand lorsque puisque si comme parce pour avec sans qu'il qu'elle",
    clinging: 'le la les un une des de du d à au aux en dans sur par pour avec mon ma mes son sa ses ce cette ces',
    inner:
      'm mm mme mlle dr pr me st ste p pp no art chap cf ex env av bd etc janv févr juil sept oct nov déc vol tél n réf fig al t pl col',
    starters: 'Le La Les Un Une Il Elle Ils Elles On Nous Vous Je Et Mais Ce Cette Ces Dans En Pour Puis',
  }),
  es: toPhrasing({
    openers: 'y e o u pero sino que porque cuando donde como si aunque mientras quien cuyo para con sin',
    clinging: 'el la los las un una unos unas de del a al en por para con mi tu su mis tus sus este esta',
    inner:
      'sr sra srta dr dra d dña ud uds pág págs núm art av avda c cía ee.uu ej p.ej aprox tel st sto sta p vol cap fig n prof ing lic gral dpto apdo máx mín ene feb abr jun jul ago sept oct nov dic',
    starters: 'El La Los Las Un Una Él Ella Ellos Nosotros Yo Y Pero En Por Para Este Esta Es Entonces',
  }),
  it: toPhrasing({
    openers: 'e ed ma o oppure che perché quando dove come se mentre anche cui quale per con senza',
    clinging: 'il lo la i gli le un uno una di del della dei delle a al alla in nel nella da dal su sul per con',
    inner:
      'sig sigg sig.ra dott dott.ssa prof ing avv on pag pagg art cap n ecc es p.es tel p vol fig prof arch rag geom spett egr gent d.c a.c c.a ca gen feb mar apr mag giu lug ago set ott nov dic s san',
    starters: 'Il Lo La I Gli Le Un Una Egli Lei Loro Noi Io E Ma In Per Questo Questa Poi',
  }),
  pt: toPhrasing({
    openers: 'e mas ou que porque quando onde como se embora enquanto quem cujo para com sem',
    clinging: 'o a os as um uma uns umas de do da dos das em no na nos nas por para com ao à',
    inner:
      'sr sra srs srta dr dra prof profa eng exmo exma pág págs n art av r tel ex p.ex aprox sto sta p cap vol fig d s séc núm cf gen',
    starters: 'O A Os As Um Uma Ele Ela Eles Nós Eu E Mas Em No Na Para Este Esta',
  }),
  nl: toPhrasing({
    openers: 'en maar of want omdat dat die wanneer als toen terwijl hoewel waar wie zodat voor met zonder',
    clinging: 'de het een van in op aan met voor te bij mijn jouw zijn haar ons hun dit dat',
    inner:
      'dhr mevr dr prof mr ir drs nr blz bijv bv d.w.z enz ca o.a m.b.t t.a.v tel st jan feb mrt apr jun jul aug sept sep okt nov dec art max hfst p mw mej ing ds afb fig incl excl evt vgl gem v n geb ong vnl zgn jl resp i.v.m n.a.v m.a.w i.p.v t.o.v d.m.v s.v.p a.u.b min sec mln mld',
    starters: 'De Het Een Hij Zij Ze Wij We Ik En Maar Dat Dit In Op Toen',
  }),
  sv: toPhrasing({
    openers: 'och men eller för som att när om eftersom medan innan där vars samt utan med',
    clinging: 'en ett den det de i på av till från med för om vid min din sin vår er deras hans hennes',
    inner: `
      t.ex t ex bl.a d.v.s dvs o.s.v m.m m.fl ca s.k p.g.a f.d fr.o.m t.o.m ev kl tel dr prof nr s sid kap art fig resp
      inkl exkl max min st jan feb apr jun jul aug sept okt nov dec f.kr e.kr milj obs avd ang tim sek
    `,
    starters: 'En Ett Den Det De Han Hon Vi Jag Ni Du Och Men Då När Om I På Av Till Efter Så Detta Denna',
  }),
  pl: toPhrasing({
    openers: 'i a ale lub albo oraz że który która które kiedy gdy bo ponieważ jeśli choć żeby gdzie jak niż bez z',
    clinging: 'w we z ze na do od po o u za nad pod przed przy dla ten ta to mój twój jego jej ich nasz',
    inner: `
      np tzn tzw m.in itp itd dr prof mgr inż ul al pl os p pp godz nr str rys tab art ust pkt tel ok r w wg ww im św ks
      hab lek gen płk kpt por red zob por ur zm jw tj n.e p.n.e tys mln mld sty lut mar kwi cze lip sie wrz paź lis gru
      min sek wyd t s rozdz zł gr max
    `,
    starters: 'Ten Ta To Te On Ona Oni My Ja W We Na Po Od Do Z Ale I A Gdy Jeśli Potem Teraz Tak Nie Jest',
  }),
};

const unknown: Phrasing = { openers: new Set(), clinging: new Set(), abbreviations: new Map(), starters: new Set() };

export function phrasingOf(languageCode: string): Phrasing {
  const language = languageCode.toLowerCase().split('-', 1)[0]!;
  if (language !== 'en') return rows[language] ?? unknown;
  english ??= toEnglish();
  return english;
}

/** Number of characters after an abbreviation that are searched for a name or number. */
const followingCharsMax = 12;

interface Stopped {
  say: string;
  isAfter: RegExp | undefined;
  isBefore: RegExp | undefined;
}

export function stoppedRuleFor({ stopped = [], patterns = {} }: LanguageTable): Rule {
  const known = new Map<string, Stopped[]>();
  for (const { rows, word_before, after } of stopped) {
    const isAfter = after === undefined ? undefined : new RegExp(`^(?:${expandPattern(after, patterns)})`, 'su');
    const isBefore =
      word_before === undefined ? undefined : new RegExp(`^(?:${expandPattern(word_before, patterns)})$`, 'su');
    for (const [key, say] of toRows(rows)) {
      const candidates = known.get(key) ?? [];
      candidates.push({ say, isAfter, isBefore });
      known.set(key, candidates);
    }
  }
  return rule(String.raw`(?<!\p{L})(\p{L}{1,6}(?:\.\p{L}{1,3}){0,3})\.(?![\p{L}\d])`, ([written, stem], place) => {
    // A single letter is not looked up in lower case, because a single capital is an initial.
    const candidates = known.get(stem!) ?? (stem!.length > 1 ? known.get(stem!.toLowerCase()) : undefined);
    return candidates?.find(
      ({ isAfter, isBefore }) =>
        (!isAfter || isAfter.test(textAfter(place, written.length, followingCharsMax))) &&
        (!isBefore || isBefore.test(wordBefore(place))),
    )?.say;
  });
}

/** The abbreviations by key, with the meaning of their full stop. */
const stopMeanings = ({ stopped = [] }: LanguageTable): [key: string, means: AbbreviationRows['means']][] =>
  stopped
    .filter(({ means, plain }) => !(means === 'final' && plain))
    .flatMap(({ rows, means }) => toRows(rows).map(([key]) => [key, means] as [string, AbbreviationRows['means']]));
