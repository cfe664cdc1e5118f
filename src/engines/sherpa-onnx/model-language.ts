// Which languages a model speaks, from its files: a code as BCP-47, Piper ("en_US") or eSpeak NG ("en-us") write it, or
// English names of languages ("Chinese + English").

const letters = [...'abcdefghijklmnopqrstuvwxyz'];

/** Made when a model is there: that takes longer than most else of a start. */
let names: Intl.DisplayNames | undefined;
let codesByName: ReadonlyMap<string, string> | undefined;

function englishName(code: string): string | undefined {
  names ??= new Intl.DisplayNames('en', { type: 'language', fallback: 'none' });
  return names.of(code);
}

/** Every two-letter code by its English name in small letters. */
function namedLanguages(): ReadonlyMap<string, string> {
  codesByName ??= new Map(
    letters.flatMap((first) =>
      letters.flatMap((second): [string, string][] => {
        const name = englishName(first + second);
        return name ? [[name.toLowerCase(), first + second]] : [];
      }),
    ),
  );
  return codesByName;
}

function toCode(hint: string): string | undefined {
  const named = namedLanguages().get(hint.trim().toLowerCase());
  if (named) return named;
  try {
    const [code] = Intl.getCanonicalLocales(hint.trim().replaceAll('_', '-'));
    return code && englishName(new Intl.Locale(code).language) ? code : undefined;
  } catch {
    return undefined;
  }
}

/** The code with the language itself behind it: en-US, en. */
export const withLanguage = (code: string): string[] => [...new Set([code, new Intl.Locale(code).language])];

/** The codes that the first hint with a meaning gives; none where no hint has one. */
export function toLanguageCodes(hints: readonly string[]): string[] {
  for (const hint of hints) {
    const codes = hint.split(/[+,/&]/).flatMap((part) => (part.trim() === '' ? [] : (toCode(part) ?? [])));
    if (codes.length > 0) return [...new Set(codes.flatMap(withLanguage))];
  }
  return [];
}
