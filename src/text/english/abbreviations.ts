// English abbreviations that are written with a full stop: the words for each, and what the stop may mean.
//   title     before a name; its stop never ends a sentence
//   numbered  an abbreviation only before a number: "No. 5" but "No."
//   inner     never the last word of a sentence
//   final     may be the last word; the next word decides
// Keys are lower case without the last stop.
import { wordSet, wordTable } from '../word-table.ts';

export type AbbreviationKind = 'title' | 'numbered' | 'inner' | 'final';

export interface Abbreviation {
  say: string;
  kind: AbbreviationKind;
}

const rows: Readonly<Record<AbbreviationKind, ReadonlyMap<string, string>>> = {
  title: wordTable(`
    mr Mister; mrs Missus; ms Miz; mx Mix; dr Doctor; drs Doctors; prof Professor; profs Professors; rev Reverend
    fr Father; hon Honorable; pres President; gov Governor; sen Senator; sens Senators; rep Representative
    reps Representatives; gen General; col Colonel; maj Major; capt Captain; cmdr Commander; lt Lieutenant
    sgt Sergeant; cpl Corporal; pvt Private; adm Admiral; supt Superintendent; messrs Messieurs; mme Madame
    mlle Mademoiselle; mt Mount; amb Ambassador; det Detective
  `),
  numbered: wordTable(`
    no number; nos numbers; nr number; p page; pp pages; pg page; vol volume; vols volumes; ch chapter; chap chapter
    sec section; sect section; fig figure; figs figures; eq equation; eqs equations; secs sections; chs chapters
    ext extension; art article; app appendix; par paragraph; para paragraph; tab table; ver version; ref reference
    ep episode; op opus; rm room; fl floor; q question
  `),
  inner: wordTable(`
    e.g for example; eg for example; i.e that is; ie that is; cf compare; viz namely; vs versus; v versus
    n.b nota bene; approx approximately; ca circa; c circa; incl including; excl excluding; resp respectively
    esp especially; orig originally; a.k.a A K A; bros Brothers; attn attention; tel telephone; intl international
    natl national; univ University; w west; e east; n north; s south
  `),
  final: wordTable(`
    etc et cetera; al al; a.m A M; p.m P M; a.d A D; b.c B C; b.c.e B C E; c.e C E; ph.d P H D; m.d M D; b.sc B S C
    m.sc M S C; p.s P S; d.c D C; inc Incorporated; ltd Limited; corp Corporation; co Company; plc P L C; llc L L C
    jr Junior; sr Senior; esq Esquire; st Street; ave Avenue; blvd Boulevard; rd Road; ln Lane; hwy Highway
    pkwy Parkway; sq Square; pl Place; apt apartment; ste suite; bldg building; dept department; depts departments
    govt government; assn association; assoc associate; mgr manager; dir director; asst assistant; admin admin
    est established; ed edition; eds editors; ea each; min minutes; mins minutes; hr hour; hrs hours; wk week
    wks weeks; yr year; yrs years; mo month; mos months; max maximum; avg average; temp temperature
    misc miscellaneous; qty quantity; amt amount; lb pound; lbs pounds; oz ounces; ft feet; in inches; yd yards
    yds yards; gal gallons; tbsp tablespoons; tsp teaspoons; mfg manufacturing
  `),
};

export const abbreviations: ReadonlyMap<string, Abbreviation> = new Map(
  Object.entries(rows).flatMap(([kind, says]) =>
    [...says].map(([key, say]) => [key, { say, kind: kind as AbbreviationKind }] as const),
  ),
);

/** Abbreviations of units; valid only after a number. */
export const afterNumber: ReadonlySet<string> = wordSet(
  'min mins hr hrs wk wks yr yrs mo mos lb lbs oz ft in yd yds gal tbsp tsp',
);

/** Abbreviations that are also ordinary words at the end of a sentence: "Come in." */
export const plainWords: ReadonlySet<string> = new Set([
  ...afterNumber,
  ...wordSet('max temp dir pl admin art app tab op par no fig gen col ref ch sec rep hon al'),
]);
