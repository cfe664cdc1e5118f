// `sonant provenance init|show|verify`: the certificate that signs manifests, and a check of a file's manifest.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createOpenSigner, selfSignedFileOf } from '../app/open-provenance.ts';
import { verifyManifest } from '../provenance/verify.ts';
import { pathBeside } from './audio-sink.ts';
import {
  type Command,
  CommandError,
  type CommandLine,
  findAction,
  formatTable,
  jsonFlag,
  onlyArgument,
  parseCommandArgs,
} from './command.ts';

const options = { json: jsonFlag };
const usage = 'sonant provenance init|show|verify FILE';

export const provenanceCommand: Command = {
  name: 'provenance',
  summary: 'show the certificate that signs audio, or check the manifest of a file',
  options,
  actions: ['init', 'show', 'verify'],
  examples: ['sonant provenance show', 'sonant provenance verify letter.mp3'],
  usage: () => `Usage: sonant provenance init|show [--json]
       sonant provenance verify FILE [--json]

init makes the self-signed certificate that signs C2PA manifests, unless there is one; the first manifest does it too.
show prints the certificate in use. verify checks the manifest in FILE or, if it has none, the one in the file beside it
with the extension .c2pa. It checks no trust list and no time-stamp, and exits with 1 if the manifest does not hold.`,
  async run(line) {
    const { values, positionals } = parseCommandArgs({ args: line.args, options, allowPositionals: true });
    const [act, rest] = findAction({ init: show, show, verify }, positionals, usage);
    const config = line.loadConfig();
    if (positionals[0] === 'show' && config.provenanceCert === '' && !existsSync(selfSignedFileOf(config)))
      throw new CommandError('there is no certificate yet; sonant provenance init makes one');
    const { faults, ...facts } = await act(line, rest);
    const rows = Object.entries({ ...facts, ...(faults && { faults: faults.join('; ') || 'none' }) });
    line.print(
      values.json ? JSON.stringify({ ...facts, faults }, null, 2) : formatTable(rows.map((row) => row.map(String))),
    );
    return faults && faults.length > 0 ? 1 : 0;
  },
};

interface Shown extends Readonly<Record<string, unknown>> {
  faults?: readonly string[];
}

async function show({ loadConfig }: CommandLine): Promise<Shown> {
  const config = loadConfig();
  const open = createOpenSigner(config);
  if (!open) throw new CommandError('audio is not marked: SONANT_PROVENANCE is off');
  const { chain } = await open();
  const { subject, issuer, validTo, fingerprint256 } = chain[0]!;
  const file = config.provenanceCert || selfSignedFileOf(config);
  const kind = config.provenanceCert === '' ? 'self-signed' : "the operator's";
  const names = { subject: subject.replaceAll('\n', ', '), issuer: issuer.replaceAll('\n', ', ') };
  return { certificate: kind, file, ...names, valid_to: new Date(validTo).toISOString(), sha256: fingerprint256 };
}

async function verify(_line: CommandLine, rest: readonly string[]): Promise<Shown> {
  const path = onlyArgument(rest, usage);
  const file = await readFile(path);
  const besidePath = pathBeside(path, 'c2pa');
  const report =
    verifyManifest(file) ?? (existsSync(besidePath) ? verifyManifest(file, await readFile(besidePath)) : undefined);
  if (!report) throw new CommandError(`${path} has no C2PA manifest, and there is no ${besidePath}`);
  const { faults, generator, sourceType, facts, signedBy, issuer, isTimeStamped } = report;
  const signed = { signed_by: signedBy, issuer, time_stamped: isTimeStamped };
  return { generator, digital_source_type: sourceType, ...facts, ...signed, faults };
}
