// Cache of Intl.Segmenter objects, which are slow to construct.

const segmenters = new Map<string, Intl.Segmenter>();
/** Callers may send any language code. */
const segmentersMax = 200;

export function segmenterFor(languageCode: string, granularity: 'word' | 'sentence'): Intl.Segmenter {
  const key = `${granularity} ${languageCode}`;
  let segmenter = segmenters.get(key);
  if (!segmenter) {
    segmenter = new Intl.Segmenter(languageCode, { granularity });
    if (segmenters.size >= segmentersMax) segmenters.clear();
    segmenters.set(key, segmenter);
  }
  return segmenter;
}
