// Finds the known name nearest to an unknown name: a corrected spelling (`group_by` for `groupby`), or Sonant's name
// for another service's field (`speaking_rate` for `speed`).

/** Longest name that is compared. Names come from callers, and the comparison is quadratic. */
const charsMax = 64;
/** Known names beyond this number are not compared. */
const namesMax = 500;
/** A name may have one wrong letter for each group of this many letters. */
const charsPerFault = 3;

/** Names of fields in other services, and their names in Sonant. */
const otherNames: Readonly<Record<string, string>> = {
  format: 'output_format',
  input: 'text',
  output_format: 'format',
  rate: 'speaking_rate',
  response_format: 'output_format',
  speak: 'say',
  speed: 'speaking_rate',
  start: 'serve',
  stream: 'method',
};

/** Returns "; did you mean X?", or "" if no known name is near. */
export function didYouMean(given: string, known: readonly string[]): string {
  const question = questionOf(nearestName(given, known));
  return question && `;${question}`;
}

/** Returns " did you mean X?", to append after a semicolon, or "" if `meant` is undefined. */
export const questionOf = (meant: string | undefined): string => (meant === undefined ? '' : ` did you mean ${meant}?`);

export function nearestName(given: string, known: readonly string[]): string | undefined {
  if (given.length > charsMax) return undefined;
  const here = Object.hasOwn(otherNames, given) ? otherNames[given]! : '';
  if (known.includes(here)) return here;
  const letters = lettersOf(given);
  if (letters === '') return undefined;
  const words = wordsOf(given);
  const faultsMax = Math.floor(letters.length / charsPerFault);
  let nearest: string | undefined;
  let fewest = faultsMax + 1;
  for (const name of known.slice(0, namesMax)) {
    const faults = hasWords(wordsOf(name), words) ? 1 : faultsOf(letters, lettersOf(name), fewest);
    if (faults >= fewest) continue;
    fewest = faults;
    nearest = name;
  }
  return nearest;
}

const lettersOf = (name: string) => name.toLowerCase().replace(/[^a-z0-9]/g, '');
const wordsOf = (name: string) =>
  name
    .replace(/([a-z])(?=[A-Z])/g, '$1_')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean);

/**
 * Whether the longer name begins or ends with all words of the shorter name, as `language_code` does with `language`.
 */
function hasWords(one: readonly string[], other: readonly string[]): boolean {
  const [longer, shorter] = one.length < other.length ? [other, one] : [one, other];
  const matchesAt = (start: number) => shorter.every((word, i) => longer[start + i] === word);
  return (
    shorter.length > 0 && shorter.length < longer.length && (matchesAt(0) || matchesAt(-shorter.length + longer.length))
  );
}

/** The edit distance of the names. If the distance is `max` or more, the result may be any number from `max` on. */
const faultsOf = (a: string, b: string, max: number): number =>
  Math.abs(a.length - b.length) >= max ? max : distance(a, b, max);

/** The smallest number of letters to add, drop, replace or swap with a neighbour to turn one name into the other. */
function distance(a: string, b: string, max: number): number {
  let older: number[] = [];
  let old = Array.from({ length: b.length + 1 }, (_, j) => j);
  let leastBefore = 0;
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    let least = i;
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      let faults = Math.min(old[j]! + 1, row[j - 1]! + 1, old[j - 1]! + (isSame ? 0 : 1));
      if (isSwapped) faults = Math.min(faults, older[j - 2]! + 1);
      row.push(faults);
      if (faults < least) least = faults;
    }
    // Every later row is computed from the last two rows, so the distance cannot become less than `max`.
    if (least >= max && leastBefore >= max) return max;
    leastBefore = least;
    older = old;
    old = row;
  }
  return old[b.length]!;
}
