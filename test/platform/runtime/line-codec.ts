// Encodes the tasks and replies of faulty-program.ts as lines of JSON.
import type { PipeCodec } from '../../../src/platform/runtime/worker-links.ts';
import type { FaultyTask } from './faulty-work.ts';

export const lineCodec: PipeCodec<FaultyTask, string, unknown, unknown> = {
  encode: (task) => `${JSON.stringify(task)}\n`,
  cancel: 'cancel\n',
  createParser(onReply) {
    let rest = '';
    return (bytes) => {
      const lines = (rest + bytes.toString()).split('\n');
      rest = lines.pop()!;
      for (const line of lines) onReply(JSON.parse(line));
    };
  },
};
