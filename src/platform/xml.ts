// Writes text into XML documents.

const references: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
export const toXml = (text: string): string => text.replace(/[&<>"]/g, (sign) => references[sign]!);
