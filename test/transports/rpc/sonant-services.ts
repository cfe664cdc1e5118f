// The services of sonant.v1, for tests that call each of them, in the order in which the server lists them.
import { ApiKeyService } from '../../../gen/sonant/v1/api_key_pb.ts';
import { BookService } from '../../../gen/sonant/v1/book_pb.ts';
import { JobService } from '../../../gen/sonant/v1/job_service_pb.ts';
import { LexiconService } from '../../../gen/sonant/v1/lexicon_pb.ts';
import { ModelService } from '../../../gen/sonant/v1/model_pb.ts';
import { ProvenanceService } from '../../../gen/sonant/v1/provenance_pb.ts';
import { SpeechService } from '../../../gen/sonant/v1/speech_pb.ts';
import { UsageService } from '../../../gen/sonant/v1/usage_pb.ts';
import { VoiceService } from '../../../gen/sonant/v1/voice_pb.ts';

export const sonantServices = [
  ...[SpeechService, VoiceService, LexiconService, JobService, BookService, ProvenanceService],
  ...[ModelService, ApiKeyService, UsageService],
];
