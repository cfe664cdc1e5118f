// Voices for the voice lists in other vendors' APIs. A voice is listed under its id and again under each alias, so that
// clients find the name that they look for. The cursor of a page is the last id of the previous page.
import type { FastifyRequest } from 'fastify';
import type { VoiceUser } from '../../accounts.ts';
import { type Api, parseVoiceFilter } from '../../api.ts';
import { type Fields, Violations } from '../../contract.ts';
import type { OfferedVoice } from '../../speech.ts';

export const toNamedVoices = <Offered extends OfferedVoice>(offered: Offered) =>
  [offered.voice.voiceId, ...offered.aliases].map((id) => ({ id, voice: offered.voice, kept: offered.kept }));

/** Returns what the field chooses; undefined if it is absent. Reports another value. */
export function choose<T>(
  given: Fields,
  field: string,
  choices: Readonly<Record<string, T>>,
  violations: Violations,
): T | undefined {
  const value = given[field] ?? '';
  if (value === '') return undefined;
  if (typeof value === 'string' && Object.hasOwn(choices, value)) return choices[value];
  const allowed = Object.keys(choices);
  return violations.report(field, 'enum', `must be one of ${allowed.join(', ')}`, { allowed });
}

/** For whom voices are listed. */
export interface Viewer {
  caller: VoiceUser;
  /** The address of a preview, which needs no key. */
  previewUrl(id: string): string;
}

export async function viewerOf(
  { call }: Pick<FastifyRequest, 'call'>,
  { tickets, baseUrl }: Pick<Api, 'tickets'> & { baseUrl(): string },
): Promise<Viewer> {
  const { caller } = call!;
  const token = await tickets.issueToken('preview', caller);
  const previewUrl = (id: string) => `${baseUrl()}/api/voices/${encodeURIComponent(id)}/preview?token=${token}`;
  return { caller, previewUrl };
}

export type NamedVoice = ReturnType<typeof toNamedVoices>[number];

/** The vendor's names for list parameters. If a name is missing, the vendor has no such parameter. */
interface ListNames {
  size: string;
  text: string;
  languageCode?: string;
  after: string;
}

const pageSizeMax = 100;

/** A page of the matching voices, their total number, and the cursor of the next page. If there are `ids`, only they match. */
export function pageOfVoices(
  ready: readonly OfferedVoice[],
  query: Fields,
  names: ListNames,
  sizeDefault: number,
  ids: readonly unknown[] = [],
) {
  const violations = new Violations();
  const take = (name: string | undefined) => {
    const value = name === undefined ? '' : (query[name] ?? '');
    if (typeof value === 'string') return value;
    violations.report(name!, 'type', 'must be given once');
    return '';
  };
  const size = Number(take(names.size) || sizeDefault);
  if (!(Number.isInteger(size) && size >= 1 && size <= pageSizeMax))
    violations.report(names.size, 'range', `must be 1 to ${pageSizeMax}`);
  const after = take(names.after);
  const wanted = { languageCode: take(names.languageCode), text: take(names.text) };
  const isWanted = parseVoiceFilter(wanted, names, violations);
  const found = ready.flatMap((offered) =>
    // An alias is matched by its own name, not by the other names of its voice.
    toNamedVoices(offered).filter(
      ({ id }) => (ids.length === 0 || ids.includes(id)) && isWanted({ ...offered, aliases: [id] }),
    ),
  );
  const last = found.findIndex(({ id }) => id === after);
  if (after !== '' && last < 0) violations.report(names.after, 'unknown', 'must be the id of a voice from this list');
  violations.throwIfAny();
  const rest = found.slice(last + 1);
  const page = rest.slice(0, size);
  const hasMore = page.length < rest.length;
  return { page, total: found.length, hasMore, next: hasMore ? page.at(-1)!.id : null };
}
