// How large a request of a method may be, how many values it may have, and how long it may take to arrive.
import type { DescMethod, DescService } from '@bufbuild/protobuf';
import { Health as HealthService } from '../../gen/health/v1/health_pb.ts';
import { BookService } from '../../gen/sonant/v1/book_pb.ts';
import { JobService } from '../../gen/sonant/v1/job_service_pb.ts';
import { LexiconService } from '../../gen/sonant/v1/lexicon_pb.ts';
import { SpeechService } from '../../gen/sonant/v1/speech_pb.ts';
import { VoiceService } from '../../gen/sonant/v1/voice_pb.ts';
import { bookUploadBytesMax } from '../books/book-limits.ts';
import {
  bodyArrivalMs,
  jobBytesMax,
  jobValuesMax,
  lexiconRequestBytesMax,
  lexiconValuesMax,
  liveMessageBytesMax,
  requestBytesMax,
  requestValuesMax,
  uploadArrivalMs,
  uploadBytesMax,
} from '../net/limits.ts';
import { takeUploadSlot } from '../net/upload-slots.ts';
import type { RequestLimits } from './large-requests.ts';
import { openRequestBytesMax } from './limits.ts';
import { reflectionServices } from './reflection.ts';

/** These need no key. */
export const openServices: readonly DescService[] = [HealthService, ...reflectionServices];

/** Methods with recordings, the text of a book, or its file, in their requests. */
export const isUpload = (method: DescMethod): boolean =>
  [VoiceService.method.cloneVoice, JobService.method.createJob, BookService.method.readBook].some(
    (each) => each === method,
  );

const uploadLimits = { bytesMax: uploadBytesMax, arrivalMs: uploadArrivalMs, takeSlot: takeUploadSlot };

export function limitsOf(method: DescMethod): RequestLimits {
  if (method === JobService.method.createJob)
    return { ...uploadLimits, bytesMax: jobBytesMax, valuesMax: jobValuesMax };
  const usual = { arrivalMs: bodyArrivalMs, bytesMax: requestBytesMax, valuesMax: requestValuesMax };
  if (method === BookService.method.readBook) return { ...usual, ...uploadLimits, bytesMax: bookUploadBytesMax };
  if (isUpload(method)) return { ...usual, ...uploadLimits };
  if (method === SpeechService.method.liveSpeech) return { ...usual, bytesMax: liveMessageBytesMax };
  if (method.parent === LexiconService)
    return { ...usual, bytesMax: lexiconRequestBytesMax, valuesMax: lexiconValuesMax };
  return openServices.includes(method.parent) ? { ...usual, bytesMax: openRequestBytesMax } : usual;
}
