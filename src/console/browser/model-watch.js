// Reads the models, repeatedly while one of them is being installed.
/** @import { ListVoiceModelsResponse } from '../../../gen/openapi.ts' */
import { isUnderWay } from './model-facts.js';

const pollMs = 1_000;
const retryMs = 5_000;

/**
 * Returns a function that reads the models now, and again while one of them is being installed.
 * @param {object} options
 * @param {() => Promise<ListVoiceModelsResponse>} options.read
 * @param {AbortSignal} options.signal
 * @param {(models: ListVoiceModelsResponse) => void} options.onRead
 * @param {(error: unknown) => void} options.showError
 */
export function createModelWatch({ read, signal, onRead, showError }) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  let count = 0;
  const watch = async () => {
    clearTimeout(timer);
    const own = ++count;
    try {
      const models = await read();
      if (own !== count || signal.aborted) return;
      onRead(models);
      if (models.models.some(isUnderWay)) timer = setTimeout(watch, pollMs);
    } catch (error) {
      if (own !== count || signal.aborted) return;
      showError(error);
      timer = setTimeout(watch, retryMs);
    }
  };
  signal.addEventListener('abort', () => clearTimeout(timer));
  return watch;
}
