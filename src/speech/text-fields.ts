// The fields that the text of a request may come in, and its limits.
import { pausesMsMax } from '../text/pause-tags.ts';

export interface TextLimits {
  charsMax: number;
  chunksMax: number;
  chunkCharsMax: number;
  totalCharsMax: number;
}

/** The limits of the text of one request to the API, in code points that are said. */
export const textLimits: TextLimits = { charsMax: 5000, chunksMax: 200, chunkCharsMax: 5000, totalCharsMax: 50_000 };
/** With its markup, a text may be so many times as long. */
export const markedLengthFactor = 5;

const markedLengths = `with markup, ${markedLengthFactor} times as long at most, and ${pausesMsMax / 1000} seconds of pauses.`;

/** The text of a request: one text, one document, or several in streaming mode. */
export const textFields = {
  text: {
    json: 'text',
    names: { openai: 'input' },
    schema: {
      type: 'string',
      maxLength: textLimits.charsMax * markedLengthFactor,
      description: `Text to speak, for \`method\` \`rest\`: at most ${textLimits.charsMax} Unicode code points, not blank; ${markedLengths}`,
    },
  },
  ssml: {
    json: 'ssml',
    schema: {
      type: 'string',
      maxLength: textLimits.charsMax * markedLengthFactor,
      description: `An SSML 1.1 document to speak, in place of \`text\` or \`text_chunks\`: at most ${textLimits.charsMax} code points that are said; ${markedLengths}`,
    },
  },
  chunks: {
    json: 'text_chunks',
    names: { openai: 'input' },
    schema: {
      type: 'array',
      items: { type: 'string', maxLength: textLimits.chunkCharsMax * markedLengthFactor },
      minItems: 1,
      maxItems: textLimits.chunksMax,
      description: `Texts to speak in order, for \`method\` \`streaming\`: at most ${textLimits.chunksMax}, each at most ${textLimits.chunkCharsMax} code points, together ${textLimits.totalCharsMax}; ${markedLengths}`,
    },
  },
} as const;
