// Tests that model archives are unpacked completely, that their format is recognized by content, and that hostile
// archives write nothing outside their folder.
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, test } from 'vitest';
import { openArchive } from '../../../src/platform/archives/archive-file.ts';
import { bunzip2 } from '../../../src/platform/archives/bzip2.ts';
import { unpackArchive } from '../../../src/platform/archives/unpack-archive.ts';
import { newFolder } from '../../new-folder.ts';
import { isInstalled } from '../../programs.ts';
import { bzip2, pax, tarEntry, tarOf, writeTar, writeZip } from './archive-writer.ts';

const root = newFolder(afterAll);

const { signal } = new AbortController();

/** Unpacks in a new folder. Returns all files that exist afterwards, by path. */
async function unpack(archive: Uint8Array): Promise<{ error?: Error; files: Record<string, string> }> {
  const place = await mkdtemp(join(root, 'case-'));
  await mkdir(join(place, 'inner'));
  await writeFile(join(place, 'archive'), archive);
  const error = await unpackArchive({ archive: join(place, 'archive'), to: join(place, 'inner/to'), signal }).then(
    () => undefined,
    (fault: Error) => fault,
  );
  const entries = await readdir(place, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => !entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name));
  const files: Record<string, string> = {};
  for (const path of paths) {
    if (path !== join(place, 'archive')) files[path.slice(place.length + 1)] = await readFile(path, 'latin1');
  }
  return { ...(error && { error }), files };
}

const weights = randomBytes(90_000);
function withBit(packed: Buffer, at: number): Buffer {
  packed[at]! ^= 8;
  return packed;
}

const good = {
  'model.onnx': weights,
  'tokens.txt': 'a 1\n',
  'espeak-ng-data/lang/en': '',
  'zeros.bin': Buffer.alloc(70_000),
};
const unpacked = Object.fromEntries(
  Object.entries(good).map(([name, content]) => [
    `inner/to/amy/${name}`,
    Buffer.from(content as string).toString('latin1'),
  ]),
);
const deep = (depth: number) => Array.from({ length: depth }, (_, n) => `d${n}`).join('/');

describe('an archive is unpacked:', () => {
  test.each<[what: string, archive: () => Uint8Array]>([
    ['tar', () => tarOf('amy', good)],
    ['tar compressed by gzip', () => gzipSync(tarOf('amy', good))],
    ['tar compressed by bzip2', () => bzip2(tarOf('amy', good))],
    [
      'bzip2 in two streams',
      () => {
        const tar = tarOf('amy', good);
        return Buffer.concat([bzip2(tar.subarray(0, 70_001)), bzip2(tar.subarray(70_001))]);
      },
    ],
    ['zip', () => writeZip(Object.entries(good).map(([name, content]) => ({ name: `amy/${name}`, content })))],
    [
      'stored zip',
      () => writeZip(Object.entries(good).map(([name, content]) => ({ name: `amy/${name}`, content, isStored: true }))),
    ],
    [
      'names with "./", of pax, and of GNU',
      () => {
        const [first, ...others] = Object.entries(good).map(([name, content]) => ({ name: `amy/${name}`, content }));
        const long = { name: '././@LongLink', type: 'L', content: `amy/${Object.keys(good)[1]}\0` };
        return writeTar([
          { name: './', type: '5' },
          pax({ path: first!.name, mtime: '1.5' }),
          { ...first!, name: 'short' },
          long,
          { ...others[0]!, name: 'short' },
          ...others.slice(1).map((entry) => ({ ...entry, name: `./${entry.name}` })),
        ]);
      },
    ],
    // If a program lists such an archive, the group could be mistaken for the size.
    [
      'a group named like a size',
      () =>
        writeTar(
          Object.entries(good).map(([name, content]) => ({ name: `amy/${name}`, content, group: '1 99999999999' })),
        ),
    ],
  ])('%s', async (_, archive) => {
    expect(await unpack(archive())).toEqual({ files: unpacked });
  });

  test('a zip of many files leaves no listeners on its file', async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => void warnings.push(warning);
    process.on('warning', onWarning);
    const path = join(root, 'many.zip');
    await writeFile(path, writeZip(Array.from({ length: 20 }, (_, n) => ({ name: `amy/${n}`, content: `file ${n}` }))));
    await using archive = await openArchive(path, () => {});
    let files = 0;
    for await (const { content } of archive.entries) for await (const _ of content) files++;
    await new Promise(setImmediate);
    process.off('warning', onWarning);
    expect(files).toBe(20);
    expect(warnings).toEqual([]);
  });

  test.skipIf(!isInstalled('bzip2'))('what the program bzip2 compresses, in every level', async () => {
    const run = Buffer.alloc(3_000_000, 'abababac');
    const bytes = Buffer.concat([randomBytes(1_200_000), run, Buffer.alloc(900_001), Buffer.from('x'.repeat(259))]);
    for (const level of ['-1', '-9']) {
      const packed = execFileSync('bzip2', ['-c', level], { input: bytes, maxBuffer: 2 ** 26 });
      const pieces = await Array.fromAsync(bunzip2(Readable.from([packed.subarray(0, 7), packed.subarray(7)])));
      expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
    }
  });
});

const bomb = () => {
  const zeros = tarEntry({ name: 'amy/zeros', size: 80 * 2 ** 20 });
  return gzipSync(Buffer.concat([zeros, Buffer.alloc(80 * 2 ** 20 + 1024)]));
};
const many = () => writeTar(Array.from({ length: 5_001 }, (_, n) => ({ name: `amy/${n}` })));
const ok = { name: 'amy/ok', content: 'ok' };
const zipped = writeZip([ok, { name: 'amy/b', content: 'b'.repeat(100) }]);

/** Each archive with the expected error. */
const hostile: readonly (readonly [what: string, archive: () => Uint8Array, told: RegExp])[] = [
  [
    'a path upwards',
    () => writeTar([ok, { name: '../out', content: 'x' }]),
    /would write outside its folder: "\.\.\/out"/,
  ],
  ['a path upwards, from within', () => writeTar([{ name: 'amy/../../../out', content: 'x' }]), /outside its folder/],
  ['an absolute path', () => writeTar([{ name: '/tmp/sonant-out', content: 'x' }]), /outside its folder/],
  ['a path of Windows', () => writeTar([{ name: 'amy\\..\\..\\out', content: 'x' }]), /outside its folder/],
  ['a drive', () => writeZip([{ name: 'C:/out', content: 'x' }]), /outside its folder/],
  ['a path upwards in a pax header', () => writeTar([pax({ path: '../out' }), ok]), /outside its folder/],
  ['a path upwards in a long name', () => writeTar([{ name: 'l', type: 'L', content: '../../out\0' }, ok]), /outside/],
  ['a path upwards in a zip', () => writeZip([{ name: 'amy/../../out', content: 'x' }]), /outside its folder/],
  [
    'a symbolic link',
    () =>
      writeTar([
        { name: 'amy', type: '2', link: '/etc' },
        { name: 'amy/x', content: 'x' },
      ]),
    /links or devices/,
  ],
  ['a hard link', () => writeTar([{ name: 'amy/x', type: '1', link: '/etc/passwd' }]), /links or devices/],
  ['a link in a zip', () => writeZip([{ name: 'amy/x', content: '/etc', mode: 0o120777 }]), /links or devices/],
  ['a device', () => writeTar([{ name: 'amy/null', type: '3' }]), /links or devices/],
  ['a pipe', () => writeTar([{ name: 'amy/pipe', type: '6' }]), /links or devices/],
  ['a sparse file', () => writeTar([{ name: 'amy/x', type: 'S' }]), /neither a file nor a folder/],
  ['a bomb of gzip', bomb, /more than 200 times its size/],
  [
    'a bomb of bzip2',
    () =>
      Buffer.concat(
        Array(40).fill(
          bzip2(Buffer.concat([tarEntry({ name: 'a', size: 2 ** 33 }), Buffer.alloc(5_000_000)]), 5_000_512),
        ),
      ),
    /more than 200 times/,
  ],
  ['files that overlap in a zip', () => writeZip([ok, { name: 'amy/b', content: 'ok', at: 0 }]), /overlap/],
  ['too many files', many, /more than 5000 files/],
  ['folders without end', () => writeTar([{ name: deep(20), content: 'x' }]), /20 deep/],
  ['a file twice', () => writeTar([ok, { ...ok, content: 'other' }]), /"amy\/ok" twice/],
  ['a file twice where case does not count', () => writeTar([ok, { ...ok, name: 'AMY/OK' }]), /twice/],
  ['a file that is a folder too', () => writeTar([ok, { name: 'amy/ok/x', content: 'x' }]), /twice/],
  [
    'a name that steers a terminal',
    () => writeTar([{ name: 'amy/\x1b[2J', content: 'x' }]),
    /control characters: "amy\/\\u001b/,
  ],
  ['a name with a line break', () => writeZip([{ name: 'amy/x\ny', content: 'x' }]), /control characters/],
  [
    'a name that turns the text around',
    () => writeTar([{ name: 'amy/\u202Exnno', content: 'x' }]),
    /control characters/,
  ],
  [
    'a name that is no text',
    () => writeTar([{ name: Buffer.from([0x61, 0xff, 0xfe]), content: 'x' }]),
    /control characters/,
  ],
  ['a name that is too long', () => writeTar([pax({ path: `amy/${'x'.repeat(300)}` }), ok]), /too long/],
  ['a size that is too large', () => writeTar([pax({ size: '999999999999999' }), ok]), /more than 5000 files or 8 GiB/],
  ['a header that was changed', () => writeTar([ok, { ...ok, name: 'amy/b', checksum: 5 }]), /is damaged/],
  ['a tar cut short', () => tarOf('amy', good).subarray(0, 60_000), /incomplete/],
  ['a tar without its end', () => tarOf('amy', good).subarray(0, -1024), /incomplete/],
  ['gzip cut short', () => gzipSync(tarOf('amy', good)).subarray(0, 60_000), /incomplete/],
  ['bzip2 cut short', () => bzip2(tarOf('amy', good)).subarray(0, 60_000), /incomplete|damaged/],
  ['zip cut short', () => zipped.subarray(0, -30), /incomplete/],
  ['bzip2 with another bit', () => withBit(bzip2(tarOf('amy', good)), 50_000), /is damaged/],
  ...[4, 8].map(
    (at) =>
      [
        `bzip2 with another bit in byte ${at}, the mark of a block`,
        () => withBit(bzip2(tarOf('amy', good)), at),
        /is damaged/,
      ] as const,
  ),
  [
    'a zip whose content is another',
    () => {
      const changed = Buffer.from(writeZip([{ ...ok, isStored: true }]));
      changed[changed.indexOf('okPK')] = 0x70;
      return changed;
    },
    /is damaged/,
  ],
  [
    'a zip that is longer than it says',
    () => writeZip([{ name: 'amy/b', content: 'b'.repeat(9), bytes: 5 }]),
    /is damaged/,
  ],
  ['an encrypted zip', () => writeZip([{ ...ok, flags: 1 }]), /is encrypted/],
  ['an empty archive', () => writeTar([]), /not a tar, gzip|no files/],
  [
    'what has data after its end',
    () => Buffer.concat([writeTar([ok]), randomBytes(2 ** 21)]),
    /has data after its end/,
  ],
  ['text', () => Buffer.from('<!doctype html>Not found'), /is not a tar, gzip, bzip2 or zip archive/],
];

test.each(hostile)(
  'a hostile archive is refused, and nothing is written outside its folder: %s',
  async (_, archive, told) => {
    const { error, files } = await unpack(archive());
    expect(error).toMatchObject({ reason: 'invalid_request', message: expect.stringMatching(told) });
    expect(Object.keys(files).filter((path) => !path.startsWith('inner/to/'))).toEqual([]);
  },
);

test('an interruption ends the thread', async () => {
  const place = await mkdtemp(join(root, 'case-'));
  await writeFile(join(place, 'archive'), bomb());
  const stopped = AbortSignal.abort(new Error('enough'));
  await expect(
    unpackArchive({ archive: join(place, 'archive'), to: join(place, 'to'), signal: stopped }),
  ).rejects.toThrow('enough');
});
