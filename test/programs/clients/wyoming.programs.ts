// Tests the newest client of Wyoming, as Home Assistant uses it: text, SSML, a document in pieces, and an error.
import { expect, test } from 'vitest';
import { openWyoming } from '../../transports/vendors/wyoming/wyoming-client.ts';
import { findPython, runProgram } from './client-programs.ts';

const python = findPython();

test.skipIf(!python)(
  'text, SSML, SSML in pieces, and an unknown voice',
  async () => {
    const { server } = await openWyoming();
    const args = [String(server.port), 'tone-low'];
    const answer = await runProgram<Record<string, any>>(python!, 'wyoming_client.py', args, null);
    expect(answer.voices).toContain('tone-low');
    expect(answer.plain / 48_000).toBeGreaterThan(0.5);
    expect((answer.document - answer.plain) / 48_000).toBeCloseTo(1, 0);
    expect(answer.pieces).toBe(answer.document);
    expect(answer.error).toBe('voice_not_found');
  },
  120_000,
);
