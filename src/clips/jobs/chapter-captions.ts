// Writes the captions of a chapter part by part while the chapter is spoken, so that memory use does not grow with the
// book. Joins the captions of all chapters for the job. All captions are stored as JSON arrays of cues.

import type { SpeechEvent, TimedWord } from '../../speech.ts';
import type { MarkedText } from '../../text.ts';
import { captionsKeyOf, readCaptions } from '../beside-audio.ts';
import { type Cue, toCaptioned, toCues } from '../captions.ts';
import type { ClipDraft, ClipStore } from '../stores/clip-store.ts';

type Drafts = Pick<ClipStore, 'create' | 'remove'>;

/** Opens a file of captions, to which cues are added in order. */
async function openCues(clips: Drafts, audioId: string) {
  const draft: ClipDraft = await clips.create(captionsKeyOf(audioId), 'application/json');
  let separator = '[';
  return {
    async add(cues: readonly Cue[]): Promise<void> {
      if (cues.length === 0) return;
      await draft.write(Buffer.from(separator + cues.map((cue) => JSON.stringify(cue)).join()));
      separator = ',';
    },
    async commit(): Promise<void> {
      await draft.write(Buffer.from(separator === '[' ? '[]' : ']'));
      await draft.commit();
    },
    discard: () => draft.discard(),
    remove: () => clips.remove(captionsKeyOf(audioId)),
  };
}

/** Stores the captions of a chapter event by event. They are complete with the event `done`. */
export function createChapterCaptions(clips: Drafts, languageCode: string, textOf: (part: number) => MarkedText) {
  let cues: Awaited<ReturnType<typeof openCues>> | undefined;
  let words: TimedWord[] = [];
  return {
    async write(event: SpeechEvent): Promise<void> {
      if (event.type === 'info') cues = await openCues(clips, event.audioId);
      else if (event.type === 'timestamps') words.push(...event.words);
      else if (event.type === 'chunk_done') {
        const captioned = toCaptioned(textOf(event.chunkIndex), languageCode);
        if (words.length > 0) await cues!.add(toCues(captioned, words, event.endSeconds));
        words = [];
      } else if (event.type === 'done') await cues!.commit();
    },
    /** Removes the captions unless the audio is stored. */
    async close(isStored: boolean): Promise<void> {
      await cues?.discard();
      if (!isStored) await cues?.remove().catch(() => undefined);
    },
  };
}

interface CaptionedChapter {
  audioId: string;
  startSeconds: number;
}

export async function storeBookCaptions(
  clips: ClipStore,
  audioId: string,
  chapters: readonly CaptionedChapter[],
): Promise<void> {
  const all = await openCues(clips, audioId);
  try {
    for (const chapter of chapters) {
      const cues = (await readCaptions(clips, chapter.audioId)) ?? [];
      const shift = (seconds: number) => seconds + chapter.startSeconds;
      await all.add(
        cues.map((cue) => ({ ...cue, startSeconds: shift(cue.startSeconds), endSeconds: shift(cue.endSeconds) })),
      );
    }
    await all.commit();
  } finally {
    await all.discard();
  }
}
