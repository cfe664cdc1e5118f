// Provides a signer for tests, files to sign, and the verdict of the independent verifier (c2pa-rs).
import { audioFormats, type FormatName } from '../../../src/audio/formats.ts';
import { makeSelfSigned, readCredentials } from '../../../src/clips/provenance/certificate.ts';
import type { Claimed } from '../../../src/clips/provenance/manifest.ts';
import { hasPlace, type OpenSigner, signBeside, signFile } from '../../../src/clips/provenance/places.ts';
import { hasTool, loadTool } from '../../tool-packages.ts';

export function createTestSigner(operator = 'ACME', untilMs?: number) {
  const pem = makeSelfSigned(operator, untilMs);
  const credentials = readCredentials(pem, pem);
  return async () => credentials;
}

/** Options of a service that signs and marks its audio. */
export const signing = { openSigner: createTestSigner(), marking: { software: 'Sonant 1.2.3', operator: 'ACME' } };

/** The certificate of a signer, as the certificates of the service are given to the verifier. */
export const certificatesOf = async (openSigner: OpenSigner): Promise<Uint8Array[]> => [
  (await openSigner()).chain[0]!.raw,
];

export const contentTypes: Readonly<Partial<Record<FormatName, string>>> = {
  wav: 'audio/wav',
  mp3: 'audio/mpeg',
  flac: 'audio/flac',
  opus: 'audio/ogg',
};

const origin: Claimed = {
  software: 'Sonant 1.2.3',
  operator: 'ACME',
  sourceType: 'http://cv.iptc.org/newscodes/digitalsourcetype/algorithmicMedia',
  model: 'tone',
  voice: 'anna',
  receipt: 'rcp_KJyTJh7TQ-oZ1Fd5h0QK2aDbVC',
};

/** Two seconds of silence, with tags. */
export async function plainFile(format: FormatName): Promise<Buffer> {
  const { openEncoder, encodedRateHz } = audioFormats[format];
  const encoder = await openEncoder(24_000, origin);
  const samples = new Float32Array(2 * (encodedRateHz?.(24_000) ?? 24_000));
  const file = Buffer.concat([Uint8Array.from(encoder.encode(samples)), encoder.end()]);
  const head = encoder.head?.();
  if (head) file.set(head);
  return file;
}

export interface Signed {
  file: Buffer;
  /** The manifest in a separate file; undefined if the audio file contains it. */
  beside: Buffer | undefined;
}

/** Signs a file in pieces of 1000 bytes. */
export async function sign(plain: Buffer, format: FormatName, openSigner = createTestSigner()): Promise<Signed> {
  const pieces = Array.from({ length: Math.ceil(plain.length / 1000) }, (_, i) =>
    plain.subarray(i * 1000, (i + 1) * 1000),
  );
  if (!hasPlace(format)) return { file: plain, beside: await signBeside(pieces, origin, openSigner) };
  const signed = signFile(pieces, format, origin, openSigner);
  const parts: Uint8Array[] = [];
  for await (const piece of signed.pieces) parts.push(piece);
  const file = Buffer.concat(parts);
  if (signed.head) file.set(signed.head);
  return { file, beside: undefined };
}

/** The library has a program for Linux on x64 only. */
export const hasIndependentVerifier =
  process.platform === 'linux' && process.arch === 'x64' && hasTool('@contentauth/c2pa-node');

/** The state that c2pa-rs finds, and its failure codes. */
export async function verifyIndependently({ file, beside }: Signed, format: FormatName) {
  const { Reader } = await loadTool('@contentauth/c2pa-node');
  const asset = { buffer: file, mimeType: contentTypes[format]! };
  const reader = beside ? await Reader.fromManifestDataAndAsset(beside, asset) : await Reader.fromAsset(asset);
  const { validation_state: state, validation_results: results } = reader!.json();
  return {
    state,
    failures: results?.activeManifest?.failure.map(({ code }: { code: string }) => code) ?? [],
    text: JSON.stringify(reader!.json()),
  };
}
