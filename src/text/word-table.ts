// Word lists as text: words separated by white space.

export const wordSet = (list: string): ReadonlySet<string> => new Set(list.trim().split(/\s+/));
