// The values of SSML attributes: times, rates, volumes and pitches. Undefined is a value that is not understood. Labels
// that the standard leaves open have the values of the tables below; docs/ssml.md lists them.

/** Milliseconds. */
const breakMs: Readonly<Record<string, number>> = {
  none: 0,
  'x-weak': 100,
  weak: 250,
  medium: 500,
  strong: 750,
  'x-strong': 1000,
};
const rates: Readonly<Record<string, number>> = {
  'x-slow': 0.5,
  slow: 0.75,
  medium: 1,
  default: 1,
  fast: 1.4,
  'x-fast': 2,
};
/** Decibels. */
const volumes: Readonly<Record<string, number>> = {
  silent: -Infinity,
  'x-soft': -12,
  soft: -6,
  medium: 0,
  default: 0,
  loud: 4,
  'x-loud': 8,
};
const pitches: Readonly<Record<string, number>> = {
  'x-low': 0.75,
  low: 0.87,
  medium: 1,
  default: 1,
  high: 1.15,
  'x-high': 1.33,
};

const numberSource = String.raw`(\d{1,6}(?:\.\d{0,6})?|\.\d{1,6})`;
const timePattern = new RegExp(String.raw`^\+?${numberSource}(ms|s)$`);
const ratePattern = new RegExp(`^([+-]?)${numberSource}(%?)$`);
const volumePattern = new RegExp(`^([+-]?)${numberSource}dB$`, 'i');
const pitchPattern = new RegExp(`^([+-])${numberSource}(%|st)$`);

const own = (table: Readonly<Record<string, number>>, label: string): number | undefined =>
  Object.hasOwn(table, label) ? table[label] : undefined;

/** Milliseconds. */
export function readTime(value: string): number | undefined {
  const [, number, unit] = timePattern.exec(value.trim()) ?? [];
  return number === undefined ? undefined : Number(number) * (unit === 's' ? 1000 : 1);
}

export const readBreakStrength = (value: string): number | undefined => own(breakMs, value.trim());
export const breakMsDefault = breakMs.medium!;

/** A factor: "200%" and "2" are twice as fast, and so is "+100%". */
export function readRate(value: string): number | undefined {
  const label = own(rates, value.trim());
  const [, sign, number, percent] = ratePattern.exec(value.trim()) ?? [];
  if (label !== undefined || number === undefined) return label;
  const change = Number(number) / (percent ? 100 : 1);
  const rate = sign === '' ? change : sign === '+' ? 1 + change : 1 - change;
  return rate > 0 ? rate : undefined;
}

/** Decibels. */
export function readVolume(value: string): number | undefined {
  const label = own(volumes, value.trim());
  const [, sign, number] = volumePattern.exec(value.trim()) ?? [];
  if (label !== undefined || number === undefined) return label;
  return sign === '-' ? -Number(number) : Number(number);
}

/** A factor: "+10%", "-2st". */
export function readPitch(value: string): number | undefined {
  const label = own(pitches, value.trim());
  const [, sign, number, unit] = pitchPattern.exec(value.trim()) ?? [];
  if (label !== undefined || number === undefined) return label;
  const change = Number(`${sign}${number}`);
  const pitch = unit === 'st' ? 2 ** (change / 12) : 1 + change / 100;
  return pitch > 0 ? pitch : undefined;
}
