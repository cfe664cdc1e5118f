// Which scripts a text is written in, and whether its language is. Letters are counted by Unicode's Script property;
// digits, symbols and punctuation belong to every script, and Latin is foreign to none: every reader copes with it.
// One pass, before the first sound.

export interface ScriptReport {
  /** Whether there is a letter or a digit in it. */
  speakable: boolean;
  /** The scripts in it that the language is not written in, by their English names, the most used first. */
  foreign: readonly string[];
  /** Whether most of its letters are in such scripts. */
  mostlyForeign: boolean;
}

/** ISO 15924 codes and Unicode's names, roughly by use. */
const scripts = {
  ...{
    Latn: 'Latin',
    Cyrl: 'Cyrillic',
    Hani: 'Han',
    Hira: 'Hiragana',
    Kana: 'Katakana',
    Hang: 'Hangul',
    Arab: 'Arabic',
  },
  ...{
    Deva: 'Devanagari',
    Grek: 'Greek',
    Hebr: 'Hebrew',
    Thai: 'Thai',
    Beng: 'Bengali',
    Taml: 'Tamil',
    Telu: 'Telugu',
  },
  ...{ Gujr: 'Gujarati', Guru: 'Gurmukhi', Knda: 'Kannada', Mlym: 'Malayalam', Orya: 'Oriya', Sinh: 'Sinhala' },
  ...{ Armn: 'Armenian', Geor: 'Georgian', Ethi: 'Ethiopic', Khmr: 'Khmer', Laoo: 'Lao', Mymr: 'Myanmar' },
  ...{ Tibt: 'Tibetan', Mong: 'Mongolian', Bopo: 'Bopomofo', Yiii: 'Yi', Cher: 'Cherokee', Tfng: 'Tifinagh' },
  ...{
    Nkoo: 'Nko',
    Thaa: 'Thaana',
    Syrc: 'Syriac',
    Copt: 'Coptic',
    Goth: 'Gothic',
    Java: 'Javanese',
    Bali: 'Balinese',
  },
  ...{ Sund: 'Sundanese', Tglg: 'Tagalog', Vaii: 'Vai', Cans: 'Canadian_Aboriginal', Adlm: 'Adlam', Olck: 'Ol_Chiki' },
  ...{ Mtei: 'Meetei_Mayek', Runr: 'Runic', Lana: 'Tai_Tham' },
} as const;

type ScriptCode = keyof typeof scripts;

/** Codes that stand for several scripts. */
const mixtures: Readonly<Record<string, readonly ScriptCode[]>> = {
  Jpan: ['Hani', 'Hira', 'Kana'],
  Kore: ['Hang', 'Hani'],
  Hans: ['Hani', 'Bopo'],
  Hant: ['Hani', 'Bopo'],
  Hrkt: ['Hira', 'Kana'],
};

const codes = Object.keys(scripts) as ScriptCode[];
const patterns = codes.map((code) => new RegExp(`\\p{Script=${scripts[code]}}`, 'u'));
const letterPattern = /\p{L}/u;
const speakablePattern = /[\p{L}\p{N}]/u;
const neutralPattern = /[\p{Script=Common}\p{Script=Inherited}]/u;

/** Of a letter that is in none of the scripts above, and of what is no letter or belongs to all. */
const other = codes.length;
const none = other + 1;

/** Counts the letters of `text` by script. */
export function inspectScripts(text: string, languageCode: string): ScriptReport {
  const counts = new Uint32Array(none + 1);
  let letters = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.codePointAt(i)!;
    if (code > 0xffff) i++;
    const script = scriptOf(code);
    counts[script]!++;
    if (script !== none) letters++;
  }
  const own = scriptsOf(languageCode);
  const foreign = [...counts.keys()]
    .filter((script) => script !== none && counts[script]! > 0 && !own.has(codes[script]!))
    .sort((a, b) => counts[b]! - counts[a]!);
  const foreignLetters = foreign.reduce((sum, script) => sum + counts[script]!, 0);
  return {
    speakable: letters > 0 || speakablePattern.test(text),
    foreign: foreign.map((script) => (script === other ? 'Other' : scripts[codes[script]!].replaceAll('_', ' '))),
    mostlyForeign: foreignLetters * 2 > letters,
  };
}

/** The script of each character of the basic plane met so far, plus one. */
const known = new Uint8Array(0x10000);

function scriptOf(codePoint: number): number {
  if (codePoint > 0xffff) return findScript(codePoint);
  const script = known[codePoint]!;
  if (script > 0) return script - 1;
  const found = findScript(codePoint);
  known[codePoint] = found + 1;
  return found;
}

function findScript(codePoint: number): number {
  const char = String.fromCodePoint(codePoint);
  if (!letterPattern.test(char) || neutralPattern.test(char)) return none;
  const script = patterns.findIndex((pattern) => pattern.test(char));
  return script < 0 ? other : script;
}

function scriptsOf(languageCode: string): ReadonlySet<string> {
  const code = new Intl.Locale(languageCode).maximize().script ?? 'Latn';
  return new Set<string>(['Latn', ...(mixtures[code] ?? [code])]);
}
