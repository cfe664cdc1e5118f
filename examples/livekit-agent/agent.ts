// An agent that reads the chat messages of its room aloud; a new message interrupts the previous one. For a
// conversation, an agent also needs an `stt` and an `llm`.
import { fileURLToPath } from 'node:url';
import { cli, defineAgent, type JobContext, ServerOptions, voice } from '@livekit/agents';
import { openCartesia } from './speech.ts';

// biome-ignore lint/style/noDefaultExport: that is how LiveKit finds it
export default defineAgent({
  async entry(ctx: JobContext) {
    const session = new voice.AgentSession({ tts: openCartesia() });
    await session.start({
      agent: new voice.Agent({ instructions: '' }),
      room: ctx.room,
      inputOptions: {
        audioEnabled: false,
        textInputCallback(running, { text }) {
          running.interrupt();
          running.say(text);
        },
      },
    });
    session.say('Hello. Write to me, and I read it aloud.');
  },
});

if (process.argv[1] === import.meta.filename) cli.runApp(new ServerOptions({ agent: fileURLToPath(import.meta.url) }));
