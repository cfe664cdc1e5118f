// What is said for a match, as tables write it: "{1:ordinal} of {month:month}[, {y:year}]". A place names a group of the match
// and the forms that are applied to it, one after the other; "{0/ point /cardinal}" says each run of digits by itself; and
// what stands in brackets is left out where a group in it is empty. A form that declines makes the whole decline.

/** Words for what is written; undefined where it is not of that kind. */
export type Form = (written: string) => string | undefined;

/** What a template says for a match. */
export type Template = (match: RegExpExecArray) => string | undefined;

type Part = (group: (name: string) => string) => string | undefined;

const partPattern = /\[([^\]]*)\]|\{(\w+)(?:\/([^/]*)\/(\w+)|((?::\w+)*))\}|[^[{]+/g;

export function toTemplate(source: string, formOf: (name: string) => Form): Template {
  const parts = toParts(source, formOf);
  return (match) => sayParts(parts, (name) => (/^\d/.test(name) ? match[Number(name)] : match.groups?.[name]) ?? '');
}

function toParts(source: string, formOf: (name: string) => Form): Part[] {
  return [...source.matchAll(partPattern)].map(([text, option, group, joiner, form, forms]): Part => {
    if (option !== undefined) return toOption(option, formOf);
    if (group === undefined) return () => text;
    if (joiner !== undefined) {
      const say = formOf(form!);
      return (groupOf) => sayRuns(groupOf(group), joiner, say);
    }
    const chain = forms!.split(':').slice(1).map(formOf);
    return (groupOf) =>
      chain.reduce<string | undefined>((said, say) => (said === undefined ? said : say(said)), groupOf(group));
  });
}

function toOption(source: string, formOf: (name: string) => Form): Part {
  const parts = toParts(source, formOf);
  const groups = [...source.matchAll(/\{(\w+)/g)].map(([, name]) => name!);
  return (groupOf) => (groups.every((name) => groupOf(name) !== '') ? sayParts(parts, groupOf) : '');
}

function sayParts(parts: readonly Part[], groupOf: (name: string) => string): string | undefined {
  let said = '';
  for (const part of parts) {
    const words = part(groupOf);
    if (words === undefined) return undefined;
    said += words;
  }
  return said;
}

function sayRuns(written: string, joiner: string, say: Form): string | undefined {
  const runs = (written.match(/\d+/g) ?? []).map(say);
  return runs.includes(undefined) ? undefined : runs.join(joiner);
}
