// The format of a sound file on the command line: that of a flag, or of the file's extension. A person is warned where the two
// differ.
import { extname } from 'node:path';
import { audioFormats, type FormatName, formatNames } from '../audio/formats.ts';
import { UsageError } from './command.ts';

/** Alternative extensions. */
const otherExtensions: Readonly<Record<string, string>> = { ogg: 'opus' };

/** WAV where neither says anything. */
export function chooseFormat(named: string | undefined, output: string): FormatName {
  const formats = formatNames.map((name) => audioFormats[name]);
  const given = extname(output).slice(1).toLowerCase();
  const meant = formats.find(({ extension }) => extension === (otherExtensions[given] ?? given));
  if (named !== undefined) {
    const format = formats.find(({ name }) => name === named);
    if (!format) throw new UsageError(`--format ${named}: must be one of ${formatNames.join(', ')}`);
    if (meant && meant !== format)
      process.stderr.write(`sonant: the name of ${output} says ${meant.name}, but its content is ${format.name}\n`);
    return format.name;
  }
  const extensions = [...formats.map(({ extension }) => extension), ...Object.keys(otherExtensions)].join(', .');
  if (!meant && given !== '')
    throw new UsageError(`no format has the extension .${given}; use .${extensions}, or --format`);
  return meant?.name ?? 'wav';
}
