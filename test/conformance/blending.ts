// Tests engines that blend their voices against the contract in src/engines/engine.ts.
import { expect, test } from 'vitest';
import type { Engine, Voice } from '../../src/engines/engine.ts';
import type { Pcm } from '../../src/platform/pcm.ts';

export interface Speaking {
  engine: Engine;
  voice: Voice;
  /** A sentence spoken with the voice. */
  say(voice: Voice): Promise<Pcm>;
}

const isSame = (one: Pcm, other: Pcm): boolean =>
  Buffer.from(one.samples.buffer).equals(Buffer.from(other.samples.buffer));

export function blendingConformance(speaking: () => Speaking): void {
  test('a blend is a voice between its parts, or the part that has all of the weight', async (context) => {
    const { engine, voice, say } = speaking();
    const { blending, voices } = engine;
    context.skip(blending === undefined, 'it does not blend voices');
    const group = blending!.groupOf(voice.voiceId);
    expect(group, `what ${voice.voiceId} blends with`).toBeDefined();
    const other = voices.findLast(
      ({ voiceId, languageCodes }) =>
        blending!.groupOf(voiceId) === group && languageCodes.some((code) => voice.languageCodes.includes(code)),
    )!;
    const parts = (weight: number) => [
      { voiceId: voice.voiceId, weight },
      { voiceId: other.voiceId, weight: 1 - weight },
    ];
    const missing = [...parts(0.5).slice(0, 1), { voiceId: 'nobody', weight: 0.5 }];
    const [alone, half, none] = blending!.blend([parts(1), parts(0.5), missing]);
    expect(none).toBeUndefined();
    for (const blend of [alone!, half!]) {
      expect(blend.engine).toBe(engine.name);
      expect(voices.map(({ voiceId }) => voiceId)).not.toContain(blend.voiceId);
      expect(blending!.groupOf(blend.voiceId)).toBeUndefined();
      expect(blend.languageCodes.length).toBeGreaterThan(0);
      for (const code of blend.languageCodes) expect(voice.languageCodes).toContain(code);
    }
    const said = await say(half!);
    expect(isSame(await say(alone!), await say(voice))).toBe(true);
    for (const part of [voice, other]) {
      expect(isSame(await say(part), said)).toBe(false);
    }
    // A blend that is no longer used remains until the requests that keep it have finished.
    const release = engine.keep?.(half!);
    expect(blending!.blend([])).toEqual([]);
    expect(isSame(await say(half!), said)).toBe(true);
    release?.();
  });
}
