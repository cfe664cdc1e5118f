// The settings of the scheduler, of the default voice, and of the recognizer that checks speech.
import { totalmem } from 'node:os';
import { integerSetting, textSetting, urlSetting } from '../platform/runtime/setting-types.ts';

/** Share of the memory that audio may use while it is being generated. */
const audioMemoryShare = 0.5;

export const speechSettings = {
  defaultVoice: textSetting({
    name: 'SONANT_DEFAULT_VOICE',
    help: 'Id or alias of the default voice, which is first in lists, the command line and the console, and speaks if a request may omit the voice. Overrides sonant voice default; default: that voice, or else the first voice of the first engine',
    allowed: 'the id or an alias of a voice',
  }),
  speakingMax: integerSetting({
    name: 'SONANT_SPEAKING_MAX',
    help: 'Requests that are synthesized at once; more wait',
    range: [1, 10_000],
    fallback: 64,
  }),
  waitingMax: integerSetting({
    name: 'SONANT_WAITING_MAX',
    help: 'Requests that wait for synthesis; more are rejected with Retry-After',
    range: [0, 100_000],
    fallback: 256,
  }),
  waitingSeconds: integerSetting({
    name: 'SONANT_WAITING_SECONDS',
    help: 'Longest wait for synthesis, in seconds; a request that would wait longer is rejected at once, with Retry-After',
    range: [1, 3600],
    fallback: 5,
  }),
  soundMemoryMb: integerSetting({
    name: 'SONANT_SOUND_MEMORY_MB',
    help: 'Most memory, in MB, for the audio of requests being synthesized; more requests wait. Default: half of the memory that the process may use',
    range: [1, 1_000_000],
    fallback: Math.max(1, Math.floor(audioMemoryShare * memoryMb())),
  }),
  transcriptionUrl: urlSetting({
    name: 'SONANT_TRANSCRIPTION_URL',
    help: 'Server with OpenAI’s transcription API, such as http://localhost:8000/v1, which hears what speech says',
    mayHaveQuery: false,
  }),
  transcriptionApiKey: textSetting({
    name: 'SONANT_TRANSCRIPTION_API_KEY',
    help: 'API key of the transcription server',
    secret: true,
  }),
  transcriptionModel: textSetting({
    name: 'SONANT_TRANSCRIPTION_MODEL',
    help: 'Model to request from the transcription server',
    fallback: 'whisper-1',
  }),
  transcriptionAtOnce: integerSetting({
    name: 'SONANT_TRANSCRIPTION_AT_ONCE',
    help: 'Segments of speech that this process sends to the transcription server at once, up to half of them for one account; more wait',
    range: [1, 1000],
    fallback: 4,
  }),
};

/** Memory of the machine, or of the container if the container has less. */
function memoryMb(): number {
  const constrained = process.constrainedMemory();
  return Math.min(totalmem(), constrained > 0 ? constrained : Infinity) / 2 ** 20;
}
