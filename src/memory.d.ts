// The types of memory.js, which is plain JavaScript.
export const newSpaceFlag: string;
export const markingFlag: string;
export const serviceEnvironment: Readonly<Record<string, string>>;
