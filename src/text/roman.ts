// Roman numerals in their canonical form, below 4000.

const pattern = /^(M{0,3})(CM|CD|D?C{0,3})(XC|XL|L?X{0,3})(IX|IV|V?I{0,3})$/;
const values: Readonly<Record<string, number>> = { I: 1, V: 5, X: 10, L: 50, C: 100, D: 500, M: 1000 };

/** The value of a Roman numeral, or undefined. */
export function parseRoman(numeral: string): number | undefined {
  if (numeral === '' || !pattern.test(numeral)) return undefined;
  let sum = 0;
  for (let i = 0; i < numeral.length; i++) {
    const value = values[numeral[i]!]!;
    sum += value < (values[numeral[i + 1] ?? ''] ?? 0) ? -value : value;
  }
  return sum;
}
