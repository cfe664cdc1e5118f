// The models that can be downloaded: those of Sonant's table (models.json), and the operator's (SONANT_MODELS), which take
// precedence.
import { readFile } from 'node:fs/promises';
import { parse as parseToml, TomlError } from 'smol-toml';
import type { EngineDefinition } from '../../engines.ts';
import { Failure } from '../../platform/errors.ts';
import { reasonOf } from '../../platform/runtime/system-errors.ts';
import table from './models.json' with { type: 'json' };
import { fileNameOf, packageOf, packageUrlForm } from './package-url.ts';

/** A model, and the engine that speaks with it. */
export interface OfferedModel {
  row: ModelRow;
  engine: ModelEngine;
  /** The engines that are tried in turn if the model turns out to be of a kind that `engine` does not know. */
  others?: readonly ModelEngine[];
}

export type ModelEngine = EngineDefinition & Required<Pick<EngineDefinition, 'models'>>;

/** Engines that support models. */
export const modelEngines = (engines: readonly EngineDefinition[]): ModelEngine[] =>
  engines.filter((engine): engine is ModelEngine => engine.models !== undefined);

/** Name of the model that gives a service a natural voice without a question. */
export const firstModelOf = (engines: readonly EngineDefinition[]): string | undefined =>
  modelEngines(engines).find(({ models }) => models.firstModel !== undefined)?.models.firstModel;

export async function loadModels(modelsFile: string, engines: readonly ModelEngine[]): Promise<OfferedModel[]> {
  const stated = parseRows(table).flatMap((row) => (isKnown(row, engines) ? toOffered(row, engines) : []));
  if (modelsFile === '') return stated;
  const own = (await readOwn(modelsFile)).flatMap((row) => toOffered(row, engines));
  const names = new Set(own.map(({ row }) => row.name));
  return [...own, ...stated.filter(({ row }) => !names.has(row.name))];
}

const isKnown = ({ kind }: ModelRow, engines: readonly ModelEngine[]): boolean =>
  engines.some(({ models }) => models.kinds.includes(kind ?? ''));

/** The model with its engine; empty if there is none. Only an import can tell the engine of a model of unknown kind. */
export function toOffered(row: ModelRow, engines: readonly ModelEngine[]): OfferedModel[] {
  const known = engines.filter(({ models }) => models.kinds.includes(row.kind ?? ''));
  const [engine, ...others] = known.length > 0 ? known : engines;
  return engine ? [{ row, engine, others }] : [];
}

async function readOwn(path: string): Promise<ModelRow[]> {
  try {
    const text = await readFile(path, 'utf8');
    return parseRows(/\.toml$/i.test(path) ? parseToml(text) : JSON.parse(text));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const isOfText = error instanceof SyntaxError || error instanceof TomlError || error instanceof TableFault;
    if (!isOfText && code === undefined) throw error;
    throw new Failure('invalid_request', { message: `SONANT_MODELS = ${path}: ${reasonOf(error)}` }, error);
  }
}

/** The expected size and hash of a file. */
export interface Build {
  bytes: number | null;
  sha256: string;
}

export interface RemoteFile {
  /** An http or https URL, or a package URL (package-url.ts). */
  url: string;
  /** Known builds of the file; empty if nothing is known. */
  builds: readonly Build[];
}

interface ModelPart extends RemoteFile {
  /** Name of the file in the model's folder. */
  as: string;
  licence: string | null;
}

export interface ModelRow extends RemoteFile {
  name: string;
  title: string;
  kind: string | null;
  languages: readonly string[] | null;
  /** Number of voices; 0 for a model that clones. */
  voices: number | null;
  /** The voice suggested for a first try: the part of its id after the model's name. */
  bestVoice: string | null;
  licence: string | null;
  /** Where the licence is stated. */
  licenceSource: string | null;
  /** Whether the licence allows commercial use. */
  commercial: boolean | null;
  /** CPU load of the model. */
  cost: string | null;
  notes: string | null;
  /** Whether the model is suggested to users without a natural voice. */
  recommended: boolean;
  /** SHA-256 by file name. */
  files: Readonly<Record<string, string>>;
  parts: readonly ModelPart[];
}

/** A fault in a table. The message states the position. */
export class TableFault extends Error {}

export function parseRows(given: unknown): ModelRow[] {
  const { models, ...more } = asObject(given, 'the table');
  noMore(more, 'the table');
  if (!Array.isArray(models)) throw new TableFault('the table must have a list "models"');
  const rows = models.map((row, n) => parseRow(row, `row ${n + 1}`));
  const twice = rows.find(({ name }, n) => rows.findIndex((row) => row.name === name) !== n);
  if (twice) throw new TableFault(`the table has ${twice.name} twice`);
  return rows;
}

function parseRow(given: unknown, place: string): ModelRow {
  const row = new Fields(asObject(given, place), place);
  const name = row.needText('name', /^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$/, 'letters, digits, ".", "_" and "-"');
  row.place = name;
  const url = row.needUrl('url');
  const parsed: ModelRow = {
    name,
    url,
    title: row.text('title') ?? name,
    kind: row.text('kind'),
    builds: [...readBuild(row), ...row.list('other_builds').flatMap(readOtherBuild)],
    languages: row.texts('languages'),
    voices: row.integer('voices'),
    bestVoice: row.text('best_voice'),
    licence: row.text('licence'),
    licenceSource: row.text('licence_source'),
    commercial: row.flag('commercial'),
    cost: row.text('cost'),
    notes: row.text('notes'),
    recommended: row.flag('recommended') ?? false,
    files: readFiles(row),
    parts: row.list('parts').map(readPart),
  };
  row.end();
  if ([parsed, ...parsed.parts].some((file) => packageOf(file.url) && file.builds.length === 0))
    throw new TableFault(`${name}: a file of a package must have a sha256`);
  const urls = new Set([parsed, ...parsed.parts].map(({ url: each }) => each));
  if (new Set([...urls].map(fileNameOf)).size < urls.size)
    throw new TableFault(`${name} has two files of the same name at different URLs`);
  return parsed;
}

/** Total size of the files; undefined if the size of any file is unknown. */
export function bytesOfRow({ builds, parts }: Pick<ModelRow, 'builds' | 'parts'>): number | undefined {
  return sumOfSizes([{ builds }, ...parts].map((file) => file.builds[0]?.bytes ?? undefined));
}

/** The sum of sizes; undefined if any of them is unknown. */
export const sumOfSizes = (sizes: readonly (number | undefined)[]): number | undefined =>
  sizes.reduce((sum, bytes) => (sum === undefined || bytes === undefined ? undefined : sum + bytes), 0);

/** Returns the model of a voice such as `amy` or `kokoro-af_bella`: the longest name that matches. */
export function modelOfVoice(voiceId: string, names: readonly string[]): string | undefined {
  const fitting = names.filter((name) => voiceId === name || voiceId.startsWith(`${name}-`));
  return fitting.reduce<string | undefined>(
    (best, name) => (name.length > (best?.length ?? 0) ? name : best),
    undefined,
  );
}

const urlWords = 'an http or https URL';
const urlForm = new RegExp(`^https?://[^/\\s]+/\\S+$|${packageUrlForm.source}`);
const sha256Form = /^[0-9a-f]{64}$/;
const sha256Words = '64 hexadecimal digits in lower case';
const fileForm = /^(?!\.)(?!sonant-)[\w.-]{1,120}$/;

function readBuild(fields: Fields): Build[] {
  const bytes = fields.integer('bytes');
  const sha256 = fields.text('sha256', sha256Form, sha256Words);
  return sha256 === null ? [] : [{ bytes, sha256 }];
}

function readOtherBuild(fields: Fields): Build[] {
  const builds = readBuild(fields);
  fields.end();
  return builds;
}

function readPart(fields: Fields): ModelPart {
  const url = fields.needUrl('url');
  const as = fields.needText('as', fileForm, 'a name of a file');
  const licence = fields.text('licence');
  const builds = readBuild(fields);
  fields.end();
  return { url, as, licence, builds };
}

function readFiles(row: Fields): Readonly<Record<string, string>> {
  const files = Object.entries(asObject(row.take('files') ?? {}, `${row.place}: files`));
  const isRight = files.every(
    ([name, hash]) => fileForm.test(name) && typeof hash === 'string' && sha256Form.test(hash),
  );
  if (!isRight) throw new TableFault(`${row.place}: files must map names of files to their SHA-256, ${sha256Words}`);
  return Object.fromEntries(files) as Record<string, string>;
}

function asObject(given: unknown, place: string): Record<string, unknown> {
  if (typeof given === 'object' && given !== null && !Array.isArray(given)) return { ...given };
  throw new TableFault(`${place} must be an object`);
}

function noMore(more: Record<string, unknown>, place: string): void {
  const [name] = Object.keys(more);
  if (name !== undefined) throw new TableFault(`${place} has the unknown member ${JSON.stringify(name)}; remove it`);
}

/** Reads the members of an object. Each member is read once; a member that remains unread is a fault. */
class Fields {
  place: string;
  readonly #left: Record<string, unknown>;

  constructor(left: Record<string, unknown>, place: string) {
    this.#left = left;
    this.place = place;
  }

  /** Returns the member; null if it is absent. */
  take(name: string): unknown {
    const value = this.#left[name];
    delete this.#left[name];
    return value ?? null;
  }

  text(name: string, form = /^[^\p{Cc}]{1,1000}$/u, words = 'text'): string | null {
    const value = this.take(name);
    if (value === null || (typeof value === 'string' && form.test(value))) return value;
    throw this.#fault(name, words);
  }

  needText(name: string, form: RegExp, words: string): string {
    const value = this.text(name, form, words);
    if (value === null) throw this.#fault(name, words);
    return value;
  }

  needUrl(name: string): string {
    const value = this.needText(name, urlForm, urlWords);
    // `URL.parse` is used because `canParse` accepts hosts of more than 16 KiB that `new URL` rejects (Node 24).
    if (URL.parse(value) === null) throw this.#fault(name, urlWords);
    return value;
  }

  integer(name: string): number | null {
    const value = this.take(name);
    if (value === null || (Number.isSafeInteger(value) && (value as number) >= 0)) return value as number | null;
    throw this.#fault(name, 'a whole number');
  }

  flag(name: string): boolean | null {
    const value = this.take(name);
    if (value === null || typeof value === 'boolean') return value;
    throw this.#fault(name, 'true or false');
  }

  texts(name: string): readonly string[] | null {
    const value = this.take(name);
    if (value === null) return null;
    if (Array.isArray(value) && value.every((item) => typeof item === 'string' && item !== '')) return value;
    throw this.#fault(name, 'a list of strings');
  }

  list(name: string): Fields[] {
    const value = this.take(name) ?? [];
    if (!Array.isArray(value)) throw this.#fault(name, 'a list');
    return value.map((item, n) => {
      const place = `${this.place}: ${name}[${n}]`;
      return new Fields(asObject(item, place), place);
    });
  }

  end(): void {
    noMore(this.#left, this.place);
  }

  #fault(name: string, words: string): TableFault {
    return new TableFault(`${this.place}: ${name} must be ${words}`);
  }
}
