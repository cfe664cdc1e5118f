// Tests the tags in the heads of files, with limits on their number and length.
import { expect, test } from 'vitest';
import { readFileHead } from '../../src/audio/file-head.ts';
import { freeFrame } from '../../src/audio/origin.ts';

const size = (bytes: number): Buffer => {
  const field = Buffer.alloc(4);
  field.writeUInt32LE(bytes);
  return field;
};
const chunk = (name: string, body: Buffer): Buffer =>
  Buffer.concat([Buffer.from(name, 'latin1'), size(body.length), body]);
const many = 100_000;

test('a WAV with very many tags has the first ones, and a second format after them is seen', () => {
  const format = chunk('fmt ', Buffer.from('0100010044ac00008858010002001000', 'hex'));
  const other = chunk('fmt ', Buffer.from('0100010080bb00000077010002001000', 'hex'));
  const info = chunk(
    'LIST',
    Buffer.concat([Buffer.from('INFO'), Buffer.alloc(many * 8, chunk('ICMT', Buffer.alloc(0)))]),
  );
  const read = (...chunks: Buffer[]) =>
    readFileHead(chunk('RIFF', Buffer.concat([Buffer.from('WAVE'), ...chunks, chunk('data', Buffer.alloc(8))])))!;
  const head = read(format, info);
  expect(head.tags).toHaveLength(200);
  expect(head.playback).toBe(read(format).playback);
  expect(read(format, info, other).playback).not.toBe(head.playback);
});

test('an ID3 tag has the texts of all its frames', () => {
  const frame = (id: string, text: string) =>
    Buffer.from(`${id}\0\0\0${String.fromCharCode(text.length + 1)}\0\0\0${text}`);
  const frames = ['TIT2 One', 'PRIV none', `${freeFrame} Name\0value`, 'TPE1 Ada'].map((each) => {
    const [id = '', text = ''] = each.split(' ');
    return frame(id, text);
  });
  const body = Buffer.concat(frames);
  for (const version of [3, 4]) {
    const head = Buffer.from([...Buffer.from('ID3'), version, 0, 0, 0, 0, 0, body.length]);
    expect(readFileHead(Buffer.concat([head, body, Buffer.alloc(8, 0xff)]))?.tags).toEqual([
      { name: 'TIT2', value: 'One' },
      { name: 'Name', value: 'value' },
      { name: 'TPE1', value: 'Ada' },
    ]);
  }
});

test('a FLAC with very many or very long comments has the first ones, cut', () => {
  const comment = (text: string) => Buffer.concat([size(text.length), Buffer.from(text)]);
  const comments = Buffer.concat([
    size(0),
    size(many),
    comment(`A=${'x'.repeat(10_000)}`),
    Buffer.alloc(many * 7, comment('B=c')),
  ]);
  const head = Buffer.from([0x84, comments.length >> 16, (comments.length >> 8) & 255, comments.length & 255]);
  const tags = readFileHead(Buffer.concat([Buffer.from('fLaC'), head, comments]))?.tags;
  expect(tags).toHaveLength(200);
  expect(tags![0]!.value.length).toBeLessThan(5_000);
});

test('a FLAC is played as its STREAMINFO says, wherever it is', () => {
  const block = (type: number, body: Buffer) => Buffer.concat([Buffer.from([type, 0, 0, body.length]), body]);
  const [info, other] = [Buffer.alloc(34, 1), Buffer.alloc(34, 2)];
  const read = (...blocks: Buffer[]) => readFileHead(Buffer.concat([Buffer.from('fLaC'), ...blocks]))!.playback;
  const own = read(block(0x80, info));
  expect(own).toMatch(/^(01)+$/);
  expect(read(block(0, info), block(0x81, other))).toBe(own);
  expect(read(block(1, info), block(0x80, other))).not.toBe(own);
  expect(read(block(0, info), block(0x80, other))).not.toBe(own);
});
