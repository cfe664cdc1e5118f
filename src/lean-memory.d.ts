// The types of lean-memory.js, which is plain JavaScript.
export const serviceFlags: readonly string[];
export const serviceEnvironment: Readonly<Record<string, string>>;
