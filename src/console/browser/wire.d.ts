// Response bodies of the API, limited to the members that the console reads.

export interface Voice {
  voice_id: string;
  name: string;
  description: string;
  kind: 'stock' | 'cloned';
  engine: string;
  status: 'pending' | 'ready' | 'failed' | 'disabled' | 'consent_revoked';
  language_codes: string[];
  labels: Record<string, string>;
  bindings: { engine: string; voice_id: string | null }[];
  capabilities: {
    sample_rates: number[];
    output_formats: string[];
    speaking_rate: { min: number; max: number };
  };
  consent: {
    speaker_name: string;
    statement: string;
    language_code: string;
    given_at: string | null;
    confirmed_by: string;
    revoked_at: string | null;
  } | null;
  owner: 'self' | 'operator' | 'other';
  access: 'private' | 'everyone';
  lexicon_ids: string[];
  created_at: string | null;
  updated_at: string | null;
}

export interface LexiconEntry {
  grapheme: string;
  alias?: string;
  phoneme?: string;
  alphabet?: string;
  language_code?: string;
  case?: string;
}

export interface Lexicon {
  lexicon_id: string;
  name: string;
  access: 'private' | 'everyone';
  owner: 'self' | 'operator' | 'other';
  entry_count: number;
  updated_at: string;
}

export interface ApiKey {
  id: string;
  hint: string;
  name: string;
  scopes: string[];
  status: 'active' | 'expired' | 'revoked';
  created_at: string;
  expires_at: string | null;
  last_used_at: string | null;
  revoked_at: string | null;
  voice_ids: string[] | null;
  allowed_ips: string[] | null;
  limits: { requests_per_minute: number; concurrency: number; characters_per_month: number | null };
  replaced_by: string | null;
  made_by: string | null;
}

/** The body of every error response. */
export interface FailureBody {
  error: string;
  message: string;
  status: number;
  request_id: string;
  details?: { field: string; reason: string; message: string }[];
  required_scopes?: string[];
  retry_after?: number;
  limit?: number;
  actual?: number;
}

/** An engine that clones voices, from GET /api/cloning. */
export interface CloningEngine {
  engine: string;
  sample_language_codes: string[];
  sample_seconds: { min: number; max: number };
  needs_reference_text: boolean;
  consent_scripts: Record<string, string>;
}

export interface CreatedApiKey extends ApiKey {
  key: string;
}

export interface UsageSum {
  requests: number;
  characters: number;
  audio_seconds: number;
}

export interface Usage {
  from: string;
  to: string;
  total: UsageSum;
  groups: (UsageSum & { group: string })[];
}

/** Progress of a model installation. */
export interface ModelInstall {
  state:
    | 'queued'
    | 'waiting'
    | 'preparing'
    | 'downloading'
    | 'unpacking'
    | 'checking'
    | 'elsewhere'
    | 'done'
    | 'cancelled'
    | 'failed';
  bytes_done: number;
  bytes_total: number | null;
  bytes_per_second: number | null;
  seconds_left: number | null;
  unpacked: number;
  failure: { error: string; message: string } | null;
}

/** A model that can be installed, or is installed. */
export interface VoiceModel {
  name: string;
  title: string;
  languages: string[] | null;
  voices: number | null;
  bytes: number | null;
  licence: string | null;
  licence_source: string | null;
  commercial: boolean | null;
  parts: { file: string; licence: string | null }[];
  library: { name: string; licence: string; installed: boolean };
  cost: string | null;
  notes: string | null;
  checked_by: 'archive' | 'weights' | null;
  recommended: boolean;
  best_voice_id: string | null;
  installed: boolean;
  voice_ids: string[];
  fetched_bytes: number;
  install: ModelInstall | null;
}

export interface VoiceModels {
  models: VoiceModel[];
  suggested: string | null;
  can_install: boolean;
}

export interface Job {
  id: string;
  status: 'queued' | 'running' | 'succeeded' | 'failed' | 'canceled';
  voice_id: string;
  created_at: string;
  ended_at: string | null;
  metadata: Record<string, string>;
  progress: {
    chars: number;
    chars_done: number;
    chapters_done: number;
    seconds: number;
    eta_seconds: number | null;
  };
  chapters: { title: string; chars: number; chars_done: number; start: number | null; audio_url: string | null }[];
  audio_url: string | null;
  captions: Record<string, string>;
  error: { message: string; chapter: number | null; text: string | null } | null;
}

export interface Book {
  title: string;
  language: string | null;
  cover: string | null;
  metadata: Record<string, string>;
  chapters: { title: string; text: string; part: 'front' | 'body' | 'notes' | 'back'; chars: number }[];
  warnings: string[];
}
