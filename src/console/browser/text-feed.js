// Passes on text while it is being written: word by word while it is typed, and a paste, if requested, in pieces at the
// pace of a language model.

/** A word is complete before a space or a mark; text in scripts without spaces is passed on unchanged. */
const completePattern =
  /[\s.!?…,;:)\]"”。！？、，；：\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;
const tokenPattern = /\s*\S{1,4}|\s+$/gu;
const tokensPerSecond = 40;

/**
 * The length of the text up to the end of its last complete word.
 * @param {string} text
 */
export function completeLength(text) {
  for (let end = text.length; end > 0; end--) if (completePattern.test(text.charAt(end - 1))) return end;
  return 0;
}

/**
 * Calls `onToken` with one piece after the other.
 * @param {string} text
 * @param {(token: string) => void} onToken
 * @param {AbortSignal} signal
 */
export async function feedTokens(text, onToken, signal) {
  for (const [token] of text.matchAll(tokenPattern)) {
    if (signal.aborted) return;
    onToken(token);
    await new Promise((resolve) => setTimeout(resolve, 1000 / tokensPerSecond));
  }
}
