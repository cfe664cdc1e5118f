// All files that a process of a model has for itself: eSpeak NG's data, and the styles of blended speakers.
import { copySpeechData, type ProcessFiles } from './espeak-copy.ts';
import type { Model } from './model.ts';
import { writeStyles } from './style-file.ts';

export async function prepareFiles(model: Model, config: object): Promise<ProcessFiles> {
  const styles = await writeStyles(model, config);
  const data = await copySpeechData(styles.config);
  return {
    config: data.config,
    async remove() {
      await Promise.all([styles.remove(), data.remove()]);
    },
  };
}
