// `sonant provenance init|show`: the certificate that signs manifests.
import { existsSync } from 'node:fs';
import { openProvenance } from '../../clips.ts';
import { type Command, CommandError, findAction, formatTable, jsonFlag, parseCommandArgs } from './command.ts';

const options = { json: jsonFlag };
const usage = 'sonant provenance init|show';

export const provenanceCommand: Command = {
  name: 'provenance',
  summary: 'show the certificate that signs audio',
  options,
  actions: ['init', 'show'],
  examples: ['sonant provenance show'],
  usage: () => `Usage: ${usage} [--json]

init makes the self-signed certificate that signs C2PA manifests, unless there is one; the first manifest does it too.
show prints the certificate in use.`,
  async run({ args, loadConfig, print }) {
    const { values, positionals } = parseCommandArgs({ args, options, allowPositionals: true });
    const [mayCreate] = findAction({ init: true, show: false }, positionals, usage);
    const config = loadConfig();
    const { certificateFile: file, openSigner } = openProvenance(config);
    if (!mayCreate && !existsSync(file))
      throw new CommandError('there is no certificate yet; sonant provenance init makes one');
    if (!openSigner) throw new CommandError('audio is not marked: SONANT_PROVENANCE is off');
    const { subject, issuer, validTo, fingerprint256 } = (await openSigner()).chain[0]!;
    const shown = {
      certificate: config.provenanceCert === '' ? 'self-signed' : "the operator's",
      file,
      subject: subject.replaceAll('\n', ', '),
      issuer: issuer.replaceAll('\n', ', '),
      valid_to: new Date(validTo).toISOString(),
      sha256: fingerprint256,
    };
    print(values.json ? JSON.stringify(shown, null, 2) : formatTable(Object.entries(shown)));
    return 0;
  },
};
