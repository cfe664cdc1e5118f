// How large a request of a method may be, and how long it may take to arrive.
import type { DescMethod, DescService } from '@bufbuild/protobuf';
import { Health as HealthService } from '../../gen/health/v1/health_pb.ts';
import { JobService } from '../../gen/sonant/v1/job_service_pb.ts';
import { LexiconService } from '../../gen/sonant/v1/lexicon_pb.ts';
import { VoiceService } from '../../gen/sonant/v1/voice_pb.ts';
import {
  bodyArrivalMs,
  jobBytesMax,
  lexiconRequestBytesMax,
  requestBytesMax,
  uploadArrivalMs,
  uploadBytesMax,
} from '../net/limits.ts';
import type { BodyLimits } from '../net/request-body.ts';
import { takeUploadSlot } from '../net/upload-slots.ts';
import { openRequestBytesMax } from './limits.ts';
import { reflectionServices } from './reflection.ts';

/** These need no key. */
export const openServices: readonly DescService[] = [HealthService, ...reflectionServices];

/** Methods with recordings, or the text of a book, in their requests. */
export const isUpload = (method: DescMethod): boolean =>
  method === VoiceService.method.cloneVoice || method === JobService.method.createJob;

const uploadLimits: BodyLimits = { bytesMax: uploadBytesMax, arrivalMs: uploadArrivalMs, takeSlot: takeUploadSlot };

export function limitsOf(method: DescMethod): BodyLimits {
  if (method === JobService.method.createJob) return { ...uploadLimits, bytesMax: jobBytesMax };
  if (isUpload(method)) return uploadLimits;
  const usualBytesMax = method.parent === LexiconService ? lexiconRequestBytesMax : requestBytesMax;
  const bytesMax = openServices.includes(method.parent) ? openRequestBytesMax : usualBytesMax;
  return { bytesMax, arrivalMs: bodyArrivalMs };
}
